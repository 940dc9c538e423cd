"""A client that goes away, or does not read, costs nobody anything."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from tests.server.support import (
    FakeModel,
    GatedBackend,
    Running,
    chat_body,
    content_of,
    events_of,
    running,
    settings_with,
)

CHAT = "/v1/chat/completions"


@pytest.fixture
def gated() -> Iterator[Running]:
    with running(FakeModel(GatedBackend(cells=2048), parallel=2)) as server:
        yield server


@contextmanager
def connected(server: Running, body: dict[str, Any], *, buffer: int | None = None) -> Iterator[socket.socket]:
    """A client that has sent a request and reads nothing by itself."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.socket() as connection:
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(20)
        connection.connect((host, int(port)))
        data = json.dumps(body).encode()
        head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
        connection.sendall(head.encode() + data)
        yield connection


def read_until(connection: socket.socket, mark: bytes) -> bytes:
    received = b""
    while mark not in received:
        piece = connection.recv(65_536)
        assert piece, received
        received += piece
    return received


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("n", [1, 4])
def test_case_57_decoding_stops(gated: Running, stream: bool, n: int) -> None:
    gated.gate.hold()
    body = chat_body(stream=stream, n=n, ignore_eos=True, temperature=1)
    with connected(gated, body):
        gated.gate.allow(5)
        gated.wait_until(lambda: len(gated.model.worker.engine.running) > 0)
    # Nothing is computed any more after the batch under way, although any number is allowed.
    gated.wait_until(lambda: not gated.state.exchanges)
    gated.gate.allow(None)
    gated.wait_until_idle()
    assert gated.backend.decodes <= 8
    assert gated.chat(max_tokens=1).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_case_59_a_prompt_under_way_is_given_up(gated: Running, stream: bool) -> None:
    gated.gate.hold()
    with connected(gated, chat_body("x" * 400, stream=stream)):
        gated.gate.allow(2)  # of the seven batches of 64 rows
        gated.wait_until(lambda: gated.backend.decodes == 2)
    gated.wait_until(lambda: not gated.state.exchanges)
    gated.gate.allow(None)
    gated.wait_until_idle()
    assert gated.backend.decodes <= 3
    again = gated.chat("x" * 400, max_tokens=1).json()["usage"]
    assert again["prompt_tokens_details"]["cached_tokens"] >= 128  # what was computed is kept


@pytest.mark.parametrize("stream", [False, True])
def test_a_queued_request_leaves_the_queue(gated: Running, stream: bool) -> None:
    gated.gate.hold()
    engine = gated.model.worker.engine
    with connected(gated, chat_body("a", n=2, seed=1)):
        gated.gate.wait_until_blocked()
        with connected(gated, chat_body("b", stream=stream)):
            gated.wait_until(lambda: len(gated.state.exchanges) == 2)
        gated.wait_until(lambda: len(gated.state.exchanges) == 1)
    gated.gate.allow(None)
    gated.wait_until_idle()
    assert engine.waiting == 0


def test_case_63_cancel_and_ask_again_at_once(shared: Running) -> None:
    body = chat_body("Again", seed=4, max_tokens=40, ignore_eos=True, stream=True)
    expected = content_of(events_of(shared.http.post(CHAT, json=body).text))
    for received in (0, 1, 200, 1500):
        for _ in range(3):
            with connected(shared, body) as connection:
                if received:
                    connection.recv(received)
            assert content_of(events_of(shared.http.post(CHAT, json=body).text)) == expected
    shared.wait_until_idle()
    assert shared.backend.used_cells() < shared.backend.info.kv_cells


WORDY = {"ignore_eos": True, "stream": True, "logprobs": True, "top_logprobs": 20}
"""About 2 kB of JSON for each token."""


def test_a_slow_reader_delays_nobody_and_gets_everything() -> None:
    with running(FakeModel(GatedBackend(cells=2048)), send_buffer=4096) as server:
        body = chat_body("slow", seed=1, max_tokens=400, **WORDY)
        expected = content_of(events_of(server.http.post(CHAT, json=body).text))
        with connected(server, body, buffer=4096) as connection:
            received = read_until(connection, b"data: ")
            others = [server.chat("fast", max_tokens=20, ignore_eos=True) for _ in range(3)]
            assert all(answer.status_code == 200 for answer in others)
            server.wait_until(lambda: server.model.worker.engine.idle)
            assert len(server.state.exchanges) == 1  # computed to the end long before it was read
            received += read_until(connection, b"[DONE]\n\n\r\n0\r\n\r\n")
        events = events_of(dechunked(received.split(b"\r\n\r\n", 1)[1]).decode())
        assert content_of(events) == expected
        assert len(events) < 300  # what lagged behind was merged


def dechunked(body: bytes) -> bytes:
    content = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        content += rest[: int(size, 16)]
        body = rest[int(size, 16) + 2 :]
    return content


def test_a_reader_that_reads_nothing_is_cut_off() -> None:
    settings = settings_with(reader_timeout_s=0.05)
    with running(FakeModel(GatedBackend(cells=2048)), settings, send_buffer=4096) as server:
        server.gate.hold()
        with connected(server, chat_body("x", max_tokens=400, **WORDY), buffer=4096):
            server.gate.allow(100)  # more text than the buffers on the way take
            server.wait_until(lambda: server.metric("reame_requests_cut_total", code="reader_timeout") == 1)
            server.gate.allow(None)
            server.wait_until(lambda: server.model.worker.engine.idle)
            assert server.metric("reame_answers_total", finish_reason="cancelled") == 1
        server.wait_until_idle()


def test_case_81_headers_and_comments_during_a_long_prompt() -> None:
    with running(FakeModel(GatedBackend(cells=2048)), settings_with(keep_alive_s=0.02)) as server:
        server.gate.hold()
        with connected(server, chat_body(max_tokens=2, ignore_eos=True, stream=True)) as connection:
            early = read_until(connection, b": keep-alive\n\n")
            assert early.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"text/event-stream" in early
            assert b"data:" not in early
            assert b": ping" not in early
            server.gate.allow(None)
            assert b'"role":"assistant"' in read_until(connection, b"[DONE]")


def test_case_81_the_openai_client_reads_over_comments() -> None:
    with running(FakeModel(GatedBackend(cells=2048)), settings_with(keep_alive_s=0.02)) as server:
        server.gate.hold()
        stream = server.openai(timeout=5).chat.completions.create(
            model="fake", messages=[{"role": "user", "content": "x"}], stream=True, max_tokens=3
        )
        server.gate.allow(None)
        assert [chunk.choices[0].finish_reason for chunk in stream][-1] in ("length", "stop")


def test_case_61_status_routes_answer_while_a_batch_is_computed(gated: Running) -> None:
    gated.gate.hold()
    with connected(gated, chat_body("x" * 300)):
        gated.gate.wait_until_blocked()
        for path in ("/health", "/v1/models", "/metrics"):
            assert gated.http.get(path).status_code == 200
        text = gated.http.get("/metrics").text
        assert "reame_num_requests_running 1.0" in text
    gated.gate.allow(None)


def test_case_80_a_full_queue_answers_503_with_an_honest_time() -> None:
    with running(FakeModel(GatedBackend(cells=2048), parallel=1, queue=2)) as server:
        server.gate.hold()
        with ExitStack() as clients:
            for count, text in enumerate("abc", 1):
                clients.enter_context(connected(server, chat_body(text, max_tokens=1)))
                server.wait_until(lambda count=count: len(server.state.exchanges) == count)
                server.gate.wait_until_blocked()
            for stream in (False, True):
                refused = server.chat("d", stream=stream)
                assert refused.status_code == 503
                assert refused.json()["error"]["code"] == "queue_full"
                assert 1 <= int(refused.headers["retry-after"]) <= 120
            server.gate.allow(None)
            server.wait_until_idle()
        assert server.chat("e", max_tokens=1).status_code == 200
        assert server.metric("reame_requests_refused_total", code="queue_full") >= 2
