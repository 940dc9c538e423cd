"""One file from servers that cut, stall, lie, refuse and redirect."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reame_core.models.download.pull import pull
from reame_core.models.download.web import Web, retry_after
from reame_core.models.folder import ModelsFolder
from reame_core.models.sources.web import WebSource
from tests.download import file_server
from tests.download.conftest import a_model
from tests.download.file_server import (
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
from tests.download.puller import Puller


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
