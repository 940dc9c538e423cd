"""Whatever is wrong, the answer has the OpenAI API's shape."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from reame_core.errors import EngineError
from reame_core.testing import FakeBackend
from tests.server.support import (
    PATIENCE,
    FakeModel,
    GatedBackend,
    Running,
    chat_body,
    content_of,
    running,
    settings_with,
)

CHAT = "/v1/chat/completions"
MESSAGES: Any = [{"role": "user", "content": "Say hi"}]


def error_of(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"]
    error: dict[str, Any] = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert "\n" not in error["message"]
    return error


def test_case_95_one_shape_for_all_errors(shared: Running) -> None:
    http = shared.http
    assert error_of(http.post(CHAT, json={"model": "fake", "messages": {}}), 400)["param"] == "messages"
    assert error_of(http.post(CHAT, json={"messages": []}), 400)["param"] == "model"
    assert error_of(http.post(CHAT, content=b"{"), 400)["type"] == "invalid_request_error"
    assert "/nowhere" in error_of(http.get("/nowhere"), 404)["message"]
    assert error_of(http.get(CHAT), 405)["code"] == "method_not_allowed"
    assert http.get(CHAT).headers["allow"] == "POST"
    assert error_of(shared.chat(model="no"), 404)["code"] == "model_not_found"
    assert http.delete("/v1/models/fake").headers["allow"] == "GET, HEAD"
    form = http.post(CHAT, content="model=fake", headers={"content-type": "application/x-www-form-urlencoded"})
    error_of(form, 400)
    error_of(http.get("/v1/../../etc/passwd"), 404)
    error_of(http.get("/%2e%2e/%00"), 404)


def test_a_wrong_content_type_does_not_matter(shared: Running) -> None:
    body = json.dumps(chat_body(max_tokens=1))
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = shared.http.post(CHAT, content=body, headers={"content-type": kind})
        assert answer.status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"{:",
        b"",
        b"[]",
        b"null",
        b'"x"',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        '{"model": "é"}'.encode("latin-1"),
        '{"model": "fake"}'.encode("utf-16"),
        rb'{"model": "fake", "messages": [{"role": "user", "content": "\ud83d"}]}',
        b'{"model": "fake", "messages": [{"role": "user", "content": "x"}], "temperature": 1e999}',
        b'{"model": "fake", "messages": [{"role": "user", "content": "x"}], "temperature": NaN}',
        b'{"model": "fake", "messages": [{"role": "user", "content": "x"}], "seed": 1' + b"0" * 400 + b"}",
    ],
)
def test_case_101_bodies_that_are_no_json(shared: Running, body: bytes) -> None:
    error_of(shared.http.post(CHAT, content=body), 400)
    assert shared.chat(max_tokens=1).status_code == 200


def test_case_101_nul_is_a_character(shared: Running) -> None:
    assert shared.chat("a\0b", max_tokens=1).status_code == 200


def test_deeply_nested_values_are_refused(shared: Running) -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    assert shared.chat(chat_template_kwargs={"x": deep}, max_tokens=1).status_code in (200, 400)
    assert shared.chat(unknown=deep, max_tokens=1).status_code in (200, 400)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, "/v1/completions"])
def test_case_64_and_66_a_prompt_above_the_context(shared: Running, path: str, stream: bool) -> None:
    text = "x" * 1024
    response = shared.http.post(path, json=chat_body(text, prompt=text, stream=stream))
    error = error_of(response, 400)
    assert error["code"] == "context_length_exceeded"
    assert error["param"] == ("messages" if path == CHAT else "prompt")
    assert "512" in error["message"]
    assert shared.chat(max_tokens=1).status_code == 200


@pytest.mark.parametrize("max_tokens", [1, 10, None])
def test_case_65_one_rule_at_the_edge_of_the_context(shared: Running, max_tokens: int | None) -> None:
    def status(tokens: int) -> tuple[int, str | None]:
        answer = shared.complete([97] * tokens, max_tokens=max_tokens, ignore_eos=True)
        finish = answer.json()["choices"][0]["finish_reason"] if answer.status_code == 200 else None
        return answer.status_code, finish

    assert status(510) == (200, "length")
    assert status(511) == (200, "length")
    assert status(512) == (400, None)
    assert status(513) == (400, None)


@pytest.mark.parametrize("max_tokens", [None, 100_000])
def test_case_67_the_end_of_the_context_is_a_length(shared: Running, max_tokens: int | None) -> None:
    answer = shared.chat("x" * 300, max_tokens=max_tokens, ignore_eos=True).json()
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["total_tokens"] == 512


def test_case_68_after_a_full_context_others_work() -> None:
    with running(FakeModel(FakeBackend(cells=256), context_length=256, parallel=1)) as server:
        first = server.chat("hi", max_tokens=4, temperature=0).json()["choices"]
        server.chat("x" * 100, ignore_eos=True)
        for _ in range(3):
            assert server.chat("hi", max_tokens=4, temperature=0).json()["choices"] == first


def test_case_87_a_template_that_refuses_is_a_400() -> None:
    model = FakeModel(FakeBackend())
    from reame_core.models.chat_template import ChatTemplate

    source = (
        "{% for message in messages %}"
        "{% if message['role'] == 'assistant' %}{{ raise_exception('Only users may speak') }}{% endif %}"
        "{{ message['content'] }}{% endfor %}"
    )
    model.template = ChatTemplate(source)
    with running(model) as server:
        messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
        error = error_of(server.http.post(CHAT, json=chat_body(messages=messages)), 400)
        assert error["message"] == "Only users may speak"
        assert error["param"] == "messages"


def test_a_failure_at_once_is_a_500_also_for_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reame_core.server.generation.event_stream.FIRST_EVENT_S", PATIENCE)
    with running(FakeModel(FakeBackend(fail_on=range(100)))) as server:
        for stream in (False, True):
            error = error_of(server.chat(stream=stream), 500)
            assert error["type"] == "server_error"
            assert "req_" in error["message"]


@pytest.fixture
def failing_later() -> Iterator[Running]:
    """The tenth batch fails, and no batch is computed before it is allowed."""
    with running(FakeModel(GatedBackend(fail_on=[10]))) as server:
        server.gate.hold()
        server.gate.allow(5)
        yield server


def test_case_108_a_failure_in_mid_stream_is_an_error_event(failing_later: Running) -> None:
    body = chat_body("x", stream=True, ignore_eos=True)
    with failing_later.http.stream("POST", CHAT, json=body) as response:
        assert response.status_code == 200
        lines = response.iter_lines()
        begun = next(lines)
        failing_later.gate.allow(None)
        events = [json.loads(line.removeprefix("data: ")) for line in (begun, *lines) if line]
    assert [event for event in events if "error" in event] == events[-1:]
    assert events[-1]["error"]["type"] == "server_error"
    assert all(choice["finish_reason"] is None for e in events[:-1] for choice in e["choices"])
    failing_later.wait_until_idle()


def test_case_108_the_openai_client_raises_it(failing_later: Running) -> None:
    client = failing_later.openai()
    stream = client.chat.completions.create(
        model="fake", messages=MESSAGES, stream=True, extra_body={"ignore_eos": True}
    )
    next(stream)
    failing_later.gate.allow(None)
    with pytest.raises(openai.APIError, match="told to fail"):
        list(stream)


def test_case_108_a_bug_in_mid_stream_ends_the_stream() -> None:
    model = FakeModel(FakeBackend())
    pieces = iter(range(10**9))

    def piece(token: int) -> bytes:
        if next(pieces) > 40:
            raise RuntimeError("secret detail")
        return bytes([97])

    with running(model) as server:
        model.backend.piece = piece  # type: ignore[method-assign]
        response = server.chat("x", stream=True, logprobs=True, ignore_eos=True)
        assert response.text.count('"error"') == 1
        assert "secret detail" not in response.text.split('"error"')[0]


def test_an_internal_error_is_in_the_log_under_its_id(shared: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    import structlog

    def broken(name: str) -> None:
        raise RuntimeError("the cause")

    monkeypatch.setattr(shared.state, "check_name", broken)
    with structlog.testing.capture_logs() as lines:
        response = shared.chat()
        shared.wait_until(lambda: any(line["event"] == "request" for line in lines))
    error = error_of(response, 500)
    assert "the cause" not in response.text
    request_id = response.headers["x-request-id"]
    assert request_id in error["message"]
    [failure] = [line for line in lines if line["event"] == "request failed"]
    assert isinstance(failure["exc_info"], RuntimeError)
    assert any(line.get("request_id") == request_id for line in lines)


def test_a_request_id_of_the_client_is_kept_if_it_is_sound(shared: Running) -> None:
    assert shared.http.get("/health", headers={"x-request-id": "my-id.1"}).headers["x-request-id"] == "my-id.1"
    odd = shared.http.get("/health", headers={"x-request-id": "a b" * 100}).headers["x-request-id"]
    assert odd.startswith("req_")


def test_the_openai_client_retries_what_may_succeed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reame_core.server.state._SOON", 0)  # the client would really wait
    with running(loaded=False) as server:
        client = server.openai(max_retries=10)
        started = threading.Event()

        def load_after_the_first_refusal() -> None:
            started.set()
            server.wait_until(lambda: server.metric("reame_http_responses_total", route=CHAT, status="503") > 0)
            server.on_loop(lambda: server.state.model_loaded(server.model))

        helper = threading.Thread(target=load_after_the_first_refusal)
        helper.start()
        assert started.wait(5)
        answer = client.chat.completions.create(model="fake", messages=MESSAGES, max_tokens=2)
        helper.join()
        assert answer.choices


def test_timeouts_of_the_client(shared: Running) -> None:
    backend = GatedBackend()
    with running(FakeModel(backend)) as server:
        backend.hold()
        with pytest.raises(openai.APITimeoutError):
            server.openai(timeout=0.2).chat.completions.create(model="fake", messages=MESSAGES)
        backend.allow(None)
        server.wait_until_idle()


@pytest.mark.parametrize("stream", [False, True])
def test_the_request_timeout(stream: bool) -> None:
    backend = GatedBackend()
    with running(FakeModel(backend), settings_with(request_timeout_s=0.1)) as server:
        backend.hold()
        response = server.chat(stream=stream)
        backend.allow(None)
        error = error_of(response, 504)
        assert error["code"] == "request_timeout"
        assert response.headers["x-should-retry"] == "false"
        server.wait_until_idle()


def test_choices_after_an_engine_that_lost_everything() -> None:
    with running(FakeModel(FakeBackend())) as server:
        server.model.worker.call(lambda engine: engine.fail_all(EngineError("lost")))
        assert content_of(server.chunks(CHAT, chat_body(max_tokens=3, ignore_eos=True)))
