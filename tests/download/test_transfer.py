"""One file from servers that cut, stall, lie, refuse and redirect."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reame_core.errors import ConfigError, ModelError
from reame_core.models.download import pull as pull_module
from reame_core.models.download.part import Part
from reame_core.models.download.pull import Pulled, pull
from reame_core.models.download.web import Web, retry_after
from reame_core.models.folder import ModelsFolder
from reame_core.models.sources.web import WebSource
from tests.download import file_server
from tests.download.conftest import a_model
from tests.download.file_server import (
    FileServer,
    chunked,
    cut,
    lie,
    never_beyond,
    refuse,
    sha256,
    stall,
    whole,
    wrong_piece,
)


@dataclass
class Told:
    """A progress that remembers."""

    lines: list[str] = field(default_factory=list)
    counts: list[tuple[int, int | None]] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)

    def begin(self, title: str) -> None:
        self.titles.append(title)

    def update(self, done: int, total: int | None) -> None:
        self.counts.append((done, total))

    def say(self, line: str) -> None:
        self.lines.append(line)

    def end(self) -> None: ...


@dataclass
class Puller:
    """Pulls ``m`` from the server's ``/m.gguf``."""

    server: FileServer
    folder: ModelsFolder
    web: Web
    told: Told = field(default_factory=Told)

    def __call__(self, *, sha256: str | None = None, again: bool = False, path: str = "/m.gguf") -> Pulled:
        source = WebSource(self.server.url + path)
        return pull("m", source, self.folder, web=self.web, progress=self.told, sha256=sha256, again=again)

    def refused(self, *, sha256: str | None = None, path: str = "/m.gguf") -> str:
        with pytest.raises(ModelError) as caught:
            self(sha256=sha256, path=path)
        assert "\n" not in str(caught.value)
        assert not self.folder.models(), "what failed must not look like a model"
        return str(caught.value)

    @property
    def part(self) -> bytes | None:
        path = self.folder.part("m.gguf")
        return path.read_bytes() if path.exists() else None


@pytest.fixture
def puller(server: FileServer, folder: ModelsFolder, web: Web, model: bytes) -> Puller:
    server.files["/m.gguf"] = model
    return Puller(server, folder, web)


def test_a_file_comes_whole(puller: Puller, model: bytes) -> None:
    pulled = puller()
    assert (pulled.fetched, pulled.unchecked) == (True, True)
    assert pulled.path.read_bytes() == model
    assert puller.part is None
    assert puller.told.titles == ["m.gguf"]
    assert puller.told.counts[0] == (0, len(model))
    assert puller.told.counts[-1] == (len(model), len(model))
    receipt = puller.folder.receipt("m")
    assert receipt is not None
    assert receipt.reference == f"{puller.server.url}/m.gguf"
    assert [(file.size, file.sha256) for file in receipt.files] == [(len(model), sha256(model))]
    assert not puller().fetched
    assert len(puller.server.requests) == 1


@pytest.mark.parametrize("after", [0, 1, 63, 64, 300_000])
def test_a_cut_connection_is_resumed(puller: Puller, model: bytes, after: int, pauses: list[float]) -> None:
    puller.server.misdeeds[:] = [cut(after), cut(1000)]
    assert puller().path.read_bytes() == model
    ranges = [request.range for request in puller.server.requests]
    assert ranges == [None, f"bytes={after}-" if after else None, f"bytes={after + 1000}-"]
    assert all("if-range" in request.headers for request in puller.server.requests if request.range)
    assert pauses == [1, 2]
    assert "the connection was cut" in puller.told.lines[0]
    assert puller.told.lines[0].endswith("trying again in 1 s (1 of 5)")


def test_silence_is_a_cut(puller: Puller, model: bytes) -> None:
    puller.web = replace(puller.web, timeout_s=0.2)
    puller.server.misdeeds[:] = [stall(200_000)]
    assert puller().path.read_bytes() == model
    assert "0.2 s" in puller.told.lines[0]


def test_a_dead_server_is_given_up_after_some_attempts(puller: Puller, pauses: list[float]) -> None:
    puller.server.misdeeds[:] = [cut(100)] * 20
    said = puller.refused()
    assert "6 times in a row: check the connection" in said
    assert pauses == [1, 2, 4, 8, 16]
    assert puller.part is not None
    assert len(puller.part) == 600


def test_progress_renews_patience(puller: Puller, pauses: list[float]) -> None:
    puller.server.files["/m.gguf"] = large = a_model(8_000_000)
    puller.server.misdeeds[:] = [cut(1_100_000)] * 7
    assert puller().path.read_bytes() == large
    assert pauses == [1] * 7


def test_a_later_call_goes_on_where_the_earlier_one_ended(puller: Puller, model: bytes) -> None:
    puller.server.misdeeds[:] = [cut(400_000), refuse(404)]
    puller.refused()
    assert puller.part == model[:400_000]
    assert puller().path.read_bytes() == model
    assert puller.server.requests[-1].range == "bytes=400000-"


def test_a_part_of_another_version_is_thrown_away(puller: Puller) -> None:
    puller.server.misdeeds[:] = [cut(400_000), refuse(404)]
    puller.refused()
    newer = puller.server.files["/m.gguf"] = a_model(fill=9)
    assert puller().path.read_bytes() == newer
    assert puller.server.requests[-1].headers["if-range"]


def test_a_part_that_nothing_can_vouch_for_is_not_used(puller: Puller, model: bytes) -> None:
    puller.server.tags = False
    puller.server.misdeeds[:] = [cut(400_000)]
    assert puller().path.read_bytes() == model
    assert [request.range for request in puller.server.requests] == [None, None]


def test_a_checksum_can_vouch_for_it(puller: Puller, model: bytes) -> None:
    puller.server.tags = False
    puller.server.misdeeds[:] = [cut(400_000)]
    pulled = puller(sha256=sha256(model).upper())
    assert (pulled.path.read_bytes(), pulled.unchecked) == (model, False)
    assert [request.range for request in puller.server.requests] == [None, "bytes=400000-"]


def test_a_part_from_another_address_is_not_used(puller: Puller, model: bytes) -> None:
    puller.server.files["/other/m.gguf"] = a_model(fill=9)
    puller.server.misdeeds[:] = [cut(400_000), refuse(404)]
    puller.refused(path="/other/m.gguf")
    assert puller().path.read_bytes() == model
    assert puller.server.requests[-1].range is None


@pytest.mark.parametrize("misdeed", [whole, wrong_piece])
def test_a_server_that_answers_a_range_with_something_else(
    puller: Puller, model: bytes, misdeed: file_server.Misdeed
) -> None:
    puller.server.misdeeds[:] = [cut(400_000), misdeed]
    assert puller().path.read_bytes() == model


def test_416_for_a_file_that_is_whole(puller: Puller, model: bytes) -> None:
    puller.server.misdeeds[:] = [lie(len(model) + 10)]
    assert puller().path.read_bytes() == model
    assert puller.server.requests[-1].range == f"bytes={len(model)}-"


def test_416_for_a_part_that_is_too_long(puller: Puller, model: bytes) -> None:
    puller.server.misdeeds[:] = [cut(400_000), refuse(404)]
    puller.refused()
    with puller.folder.part("m.gguf").open("ab") as part:
        part.write(bytes(len(model)))
    assert puller().path.read_bytes() == model


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_trouble_that_may_pass(puller: Puller, model: bytes, status: int, pauses: list[float]) -> None:
    puller.server.misdeeds[:] = [refuse(status, retry_after="7"), refuse(status)]
    assert puller().path.read_bytes() == model
    assert pauses == [7, 2]
    assert f"(status {status}) and asks to wait" in puller.told.lines[0]


def test_a_server_that_asks_for_too_long_a_pause(puller: Puller, pauses: list[float]) -> None:
    puller.server.misdeeds[:] = [refuse(429, retry_after="7200")]
    assert "too many requests (status 429) and asks to wait, and to come back in 2 h" in puller.refused()
    assert pauses == []


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("12", 12.0),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
    ],
)
def test_the_forms_of_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, 1_700_000_000.0) == seconds


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "does not let this user have m.gguf (status 401): accept its licence"),
        (403, "set HF_TOKEN"),
        (404, "127.0.0.1 has no m.gguf (status 404): check the name or the address"),
        (410, "has no m.gguf"),
        (400, "127.0.0.1 refuses m.gguf (status 400)"),
        (304, "127.0.0.1 refuses m.gguf (status 304)"),
        (407, "the proxy asks for a password"),
    ],
)
def test_a_refusal_is_final(puller: Puller, status: int, message: str, pauses: list[float]) -> None:
    puller.server.misdeeds[:] = [refuse(status)]
    assert message in puller.refused()
    assert (pauses, puller.part, len(puller.server.requests)) == ([], None, 1)


def test_nobody_listens(puller: Puller, folder: ModelsFolder, pauses: list[float]) -> None:
    with file_server.running() as gone:
        puller.server = gone
    assert "no connection to 127.0.0.1" in puller.refused()
    assert len(pauses) == 5


# case 121
@pytest.mark.parametrize(
    ("misdeed", "message"),
    [
        (refuse(200), "nothing came, 6 times in a row"),
        (refuse(200, b"<!DOCTYPE html><html>Please sign in</html>"), "what came for m.gguf is a web page"),
        (refuse(200, b'{"error": "quota"}'), "what came for m.gguf is JSON, not a model"),
        (refuse(200, b"GGUF"), "ends inside its header"),
        (refuse(302, location="/m.gguf"), "m.gguf is redirected in a circle"),
        (refuse(302, location="file:///etc/passwd"), "m.gguf is redirected to file:, which is no web address"),
        (lie(500_000), "is cut off: 500,000 of 700,"),
    ],
)
def test_case_121_what_is_no_model_is_not_taken_for_one(
    puller: Puller, misdeed: file_server.Misdeed, message: str
) -> None:
    puller.server.misdeeds[:] = [misdeed] * 12
    assert message in puller.refused()
    assert puller.part is None


def test_case_121_a_short_body_under_the_right_length(puller: Puller, model: bytes) -> None:
    puller.server.misdeeds[:] = [never_beyond(600_000)] * 20
    assert "the connection was cut after 600,000 of 700,064 bytes, 6 times in a row" in puller.refused()
    assert puller.part == model[:600_000]


def test_a_file_without_a_length(puller: Puller, model: bytes) -> None:
    puller.server.misdeeds[:] = [chunked]
    assert puller().path.read_bytes() == model
    assert puller.told.counts[0] == (0, None)


def test_a_compressed_answer_is_refused(puller: Puller) -> None:
    puller.server.misdeeds[:] = [refuse(200, b"x", content_encoding="gzip")]
    assert "compressed although asked not to" in puller.refused()
    assert puller.server.requests[0].headers["accept-encoding"] == "identity"


# case 122
def test_case_122_a_wrong_checksum_is_an_error(puller: Puller, model: bytes) -> None:
    said = puller.refused(sha256="0" * 64)
    assert f"its SHA-256 is {sha256(model)}, not {'0' * 64}" in said
    assert puller.part is None


def test_case_122_a_missing_checksum_counts_as_not_compared(puller: Puller) -> None:
    assert puller().unchecked


def test_case_122_a_damaged_part_is_replaced(puller: Puller, model: bytes) -> None:
    puller.server.misdeeds[:] = [cut(400_000), refuse(404)]
    puller.refused(sha256=sha256(model))
    path = puller.folder.part("m.gguf")
    path.write_bytes(bytes(10) + path.read_bytes()[10:])
    assert puller(sha256=sha256(model)).path.read_bytes() == model
    assert "does not fit, fetching all of it" in puller.told.lines[-1]


# case 123
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_case_123_proxies_are_used_for_every_request(
    puller: Puller, cdn: FileServer, model: bytes, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # nobody knows these hosts: what went out directly would fail
    proxy = cdn
    proxy.files["/m.gguf"] = model
    proxy.misdeeds[:] = [refuse(302, location="http://elsewhere.invalid/m.gguf")]
    monkeypatch.setenv(variable, proxy.url.replace("http://", "http://ada:pw%40x@"))
    pulled = pull("m", WebSource("http://models.invalid/m.gguf"), puller.folder, web=puller.web)
    assert pulled.path.read_bytes() == model
    assert [request.target for request in proxy.requests] == [
        "http://models.invalid/m.gguf",
        "http://elsewhere.invalid/m.gguf",
    ]
    assert {request.headers["proxy-authorization"] for request in proxy.requests} == {"Basic YWRhOnB3QHg="}


def test_case_123_no_proxy_for_some_hosts(
    puller: Puller, cdn: FileServer, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", cdn.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert puller().path.read_bytes() == model
    assert cdn.requests == []


def test_case_123_https_goes_through_the_proxy_too(
    puller: Puller, cdn: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", cdn.url)
    with pytest.raises(ModelError, match="the proxy refuses"):
        pull("m", WebSource("https://models.invalid/m.gguf"), puller.folder, web=puller.web)
    assert cdn.requests[0].method == "CONNECT"
    assert cdn.requests[0].target == "models.invalid:443"


@pytest.mark.parametrize("proxy", ["socks5://u:secret@h:1", "ftp://u:secret@h", "http://u:secret@h:port"])
def test_case_123_a_proxy_that_cannot_be_used(
    puller: Puller, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(ConfigError, match=r"must be an address such as http://HOST:PORT") as caught:
        puller()
    assert "secret" not in str(caught.value)


def test_a_password_in_an_address_is_sent_and_not_shown(puller: Puller, cdn: FileServer, model: bytes) -> None:
    cdn.files["/m.gguf"] = model
    puller.server.misdeeds[:] = [refuse(302, location=f"{cdn.url}/m.gguf?key=other")]
    url = puller.server.url.replace("http://", "http://ada:secret@") + "/m.gguf?key=hidden"
    pull("m", WebSource(url), puller.folder, web=puller.web, progress=puller.told)
    assert puller.server.requests[0].headers["authorization"].startswith("Basic ")
    assert "authorization" not in cdn.requests[0].headers
    written = "".join(
        path.read_text() for path in puller.folder.path.rglob("*") if path.is_file() and path.suffix != ".gguf"
    )
    assert not re.search("secret|hidden|other", written)


# case 119
def test_case_119_a_full_disk_is_noticed_before(puller: Puller) -> None:
    source = WebSource(puller.server.url + "/m.gguf")
    with pytest.raises(ModelError, match=r"m needs 700 KB more on the disk of .*, where 64 MB is free"):
        pull("m", source, puller.folder, web=puller.web, free=lambda _: 64_000_000)
    assert puller.part is None
    pull("m", source, puller.folder, web=puller.web, free=lambda _: 65_000_000)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_case_119_a_disk_that_fills_during_a_download(
    puller: Puller, model: bytes, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Part.append

    def full(part: Part, data: bytes) -> None:
        if part.size >= 200_000:
            raise OSError(number, "no more")
        append(part, data)

    monkeypatch.setattr(Part, "append", full)
    assert "is full: make room and pull again, which goes on where it ended" in puller.refused()
    monkeypatch.undo()
    assert puller.part is not None
    assert 0 < len(puller.part) < len(model)
    assert puller().path.read_bytes() == model
    assert puller.server.requests[-1].range is not None


def test_case_119_giving_up_frees_the_disk(puller: Puller) -> None:
    puller.server.misdeeds[:] = [cut(400_000), refuse(404)]
    puller.refused()
    assert puller.folder.remove("m") > 400_000
    assert [path.suffix for path in (puller.folder.path / ".reame").iterdir()] in ([], [".lock"])


# case 120
def test_case_120_a_part_that_disappears(puller: Puller, monkeypatch: pytest.MonkeyPatch) -> None:
    append = Part.append

    def append_and_lose(part: Part, data: bytes) -> None:
        append(part, data)
        part.path.unlink(missing_ok=True)

    monkeypatch.setattr(Part, "append", append_and_lose)
    assert "somebody removed the file while it came: pull it again" in puller.refused()


def test_case_120_parts_lie_on_the_file_system_of_the_models(folder: ModelsFolder) -> None:
    folder.prepare()
    assert folder.part("m.gguf").parent.parent == folder.path


# case 127
@pytest.mark.parametrize("place", ["/proc/none", "a file", "a file/below"])
def test_case_127_a_folder_that_cannot_be_written(puller: Puller, tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").write_text("")
    puller.folder = ModelsFolder(tmp_path / place)
    said = puller.refused()
    assert f"no model can be put into {tmp_path / place} (" in said
    assert said.endswith("name a folder that this user can write to, by REAME_HOME or the setting model.folder")
    assert puller.server.requests == []


def test_case_127_a_folder_with_a_difficult_name(puller: Puller, tmp_path: Path, model: bytes) -> None:
    puller.folder = ModelsFolder(tmp_path / "ü dir/with space")
    assert puller().path.read_bytes() == model


def test_the_old_model_serves_until_the_new_one_is_complete(puller: Puller, model: bytes) -> None:
    path = puller().path
    newer = puller.server.files["/m.gguf"] = a_model(fill=9)
    assert not puller().fetched
    puller.server.misdeeds[:] = [cut(1000), refuse(404)]
    with pytest.raises(ModelError):
        puller(again=True)
    assert path.read_bytes() == model
    assert puller.folder.damage("m") is None
    assert puller(again=True).path.read_bytes() == newer


def test_a_damaged_model_is_fetched_again(puller: Puller, model: bytes) -> None:
    path = puller().path
    path.write_bytes(model[:-1000])
    assert puller.folder.damage("m") is not None
    assert puller().path.read_bytes() == model


@settings(max_examples=25, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 40_000), max_size=5), versions=st.lists(st.booleans(), min_size=5, max_size=5)
)
def test_whatever_breaks_the_file_is_one_version_whole(
    cuts: list[int], versions: list[bool], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Connections break anywhere and the file changes at any time: never is it pieced together from two."""
    contents = [a_model(40_000, fill=1), a_model(40_000, fill=2)]
    with file_server.running() as server:
        server.files["/m.gguf"] = contents[0]

        def misdeed(after: int, changes: bool) -> file_server.Misdeed:
            def act(answer: file_server.Answer) -> None:
                server.files["/m.gguf"] = contents[changes]
                answer.serve(send=after)

            return act

        server.misdeeds = [misdeed(*pair) for pair in zip(cuts, versions, strict=False)]
        web = Web(sleep=lambda _: None)
        folder = ModelsFolder(tmp_path_factory.mktemp("m"))
        pulled = pull("m", WebSource(f"{server.url}/m.gguf"), folder, web=web)
        assert pulled.path.read_bytes() in contents


def test_free_bytes_are_those_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_module.shutil, "disk_usage", lambda _: SimpleNamespace(total=9, used=5, free=4))
    assert pull_module.free_bytes(tmp_path) == 4
