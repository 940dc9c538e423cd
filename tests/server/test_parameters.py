"""Every parameter is honoured, or refused by its name."""

from __future__ import annotations

from typing import Any

import msgspec
import openai
import pytest

from reame_core.server.wire.requests import ChatRequest, CompletionRequest
from tests.server.support import FakeModel, Running, chat_body, running, settings_with

CHAT = "/v1/chat/completions"


def error_of(response: Any, status: int = 400) -> dict[str, Any]:
    assert response.status_code == status, response.text
    error: dict[str, Any] = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


@pytest.mark.parametrize(("path", "kind"), [(CHAT, ChatRequest), ("/v1/completions", CompletionRequest)])
def test_case_94_every_optional_field_may_be_null(shared: Running, path: str, kind: type) -> None:
    required = {"model": "fake", "messages": [{"role": "user", "content": "Say hi"}], "prompt": "Say hi"}
    body = {field.encode_name: None for field in msgspec.structs.fields(kind)}
    body |= {name: value for name, value in required.items() if name in body}
    body |= {"response_format": None, "tools": None, "tool_choice": None, "unknown": None}
    assert shared.http.post(path, json=body).status_code == 200


@pytest.mark.parametrize("stop", ["", [], ["", "x"], None])
def test_case_94_empty_stop_texts_stop_nothing(shared: Running, stop: Any) -> None:
    answer = shared.chat(stop=stop, temperature=0).json()
    assert answer["choices"][0]["message"]["content"] == "Hello there!"


def test_case_94_whole_numbers_with_a_point_and_unknown_fields(shared: Running) -> None:
    answer = shared.chat(max_tokens=2.0, n=2.0, seed=1.0, top_k=5.0, who_knows={"a": 1}, ignore_eos=True)
    assert answer.status_code == 200
    assert len(answer.json()["choices"]) == 2
    assert error_of(shared.chat(max_tokens=2.5))["param"] == "max_tokens"


@pytest.mark.parametrize("path", [CHAT, "/v1/completions"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_case_69_exactly_so_many_tokens(shared: Running, path: str, count: int) -> None:
    body = chat_body(max_tokens=count, ignore_eos=True, prompt="x")
    answer = shared.http.post(path, json=body).json()
    assert answer["usage"]["completion_tokens"] == count
    assert answer["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("count", [0, -1, "many", 1.5])
def test_case_69_no_and_negative_tokens_are_refused(shared: Running, count: Any) -> None:
    assert error_of(shared.chat(max_tokens=count))["param"] == "max_tokens"
    assert error_of(shared.chat(max_completion_tokens=count))["param"] == "max_completion_tokens"
    assert error_of(shared.complete(max_tokens=count))["param"] == "max_tokens"


def test_case_70_max_completion_tokens_wins(shared: Running) -> None:
    for fields in ({"max_completion_tokens": 8}, {"max_completion_tokens": 8, "max_tokens": 3}):
        answer = shared.chat(ignore_eos=True, **fields).json()
        assert answer["usage"]["completion_tokens"] == 8
        assert answer["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    "bias", [{"999999999": 5}, {"-1": 1}, {"AI": -100}, {"5": 1e9}, {"5": None}, {"٣": 1}, [[5, 1]], {"5": "x"}]
)
def test_case_92_impossible_biases(shared: Running, bias: Any) -> None:
    assert error_of(shared.chat(logit_bias=bias))["param"] == "logit_bias"
    assert shared.chat(max_tokens=2).status_code == 200


def test_case_92_possible_biases(shared: Running) -> None:
    assert shared.chat(logit_bias={}, max_tokens=2).status_code == 200
    answer = shared.chat("zzz", logit_bias={str(ord("q")): 100}, temperature=0, max_tokens=3).json()
    assert answer["choices"][0]["message"]["content"] == "qqq"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -1),
        ("temperature", 1000),
        ("temperature", "hot"),
        ("temperature", True),
        ("top_p", 0),
        ("top_p", 1.1),
        ("top_k", -1),
        ("min_p", 2),
        ("presence_penalty", 3),
        ("frequency_penalty", -3),
        ("repeat_penalty", 0),
        ("stream", "yes"),
        ("stop", 5),
        ("stop", ["x"] * 17),
        ("stop_token_ids", [-1]),
        ("stop_token_ids", [5, 10**9]),
        ("repeat_last_n", -1),
        ("repetition_penalty", 0),
        ("n", 0),
        ("user", 5),
        ("top_logprobs", 3),
        ("store", True),
        ("service_tier", "flex"),
        ("modalities", ["text", "audio"]),
        ("audio", {"voice": "x"}),
        ("verbosity", "high"),
        ("web_search_options", {}),
        ("reasoning_effort", "low"),
        ("stream_options", []),
        ("reame", "fast"),
        ("reame", {"nonsense": 1}),
        ("reame", {"cache": "sometimes"}),
        ("response_format", {"type": "json_object"}),
        ("response_format", {"type": "json_schema", "json_schema": {"name": "x"}}),
        ("response_format", {"type": "xml"}),
        ("response_format", "json"),
        ("tools", [{"type": "function", "function": {"name": "f"}}]),
        ("tool_choice", "required"),
        ("functions", [{"name": "f"}]),
        ("grammar", "root ::= 'x'"),
    ],
)
def test_refusals_name_the_field(shared: Running, field: str, value: Any) -> None:
    error = error_of(shared.chat(**{field: value}))
    assert error["param"] is not None
    assert error["param"].split(".")[0] == field
    assert field in error["message"]
    assert error["type"] == "invalid_request_error"


def test_case_96_unsupported_formats_name_the_plugin(shared: Running) -> None:
    error = error_of(shared.chat(response_format={"type": "json_object"}, tools=[{"type": "function"}]))
    assert error["param"] in ("response_format", "tools")
    assert "suggeritore" in error["message"]
    assert "reame-conclave" in error_of(shared.chat(reame={"conclave": {"n": 5}}))["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "text"}},
        {"tools": [], "tool_choice": "none"},
        {"tool_choice": "auto", "parallel_tool_calls": True},
        {"functions": [], "function_call": "none"},
        {"store": False, "metadata": {"a": "b"}, "service_tier": "auto", "modalities": ["text"]},
        {"user": "u", "safety_identifier": "s", "prompt_cache_key": "k", "verbosity": "medium"},
        {"prediction": {"type": "content", "content": "Hello"}},
        {"stream_options": {"include_usage": True}},
        {"top_logprobs": 0},
        {"reame": {"speculation": False, "cache": "use"}},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"min_p": 0.1, "top_k": 3, "repeat_penalty": 1.1, "repeat_last_n": 16, "repetition_penalty": 1.1},
        {"stop_token_ids": [5], "presence_penalty": 1, "frequency_penalty": -1, "top_p": 0.5},
    ],
)
def test_values_that_ask_for_nothing_special_are_accepted(shared: Running, fields: dict[str, Any]) -> None:
    assert shared.chat(max_tokens=2, **fields).status_code == 200


@pytest.mark.parametrize(("top", "status"), [(0, 200), (5, 200), (20, 200), (21, 400)])
def test_case_102_chat_logprobs(shared: Running, top: int, status: int) -> None:
    answer = shared.chat(logprobs=True, top_logprobs=top, temperature=0)
    assert answer.status_code == status
    if status == 400:
        assert error_of(answer)["param"] == "top_logprobs"
        return
    [choice] = answer.json()["choices"]
    content = choice["logprobs"]["content"]
    assert "".join(each["token"] for each in content) == choice["message"]["content"]
    assert all(len(each["top_logprobs"]) == top for each in content)
    assert all(set(each) == {"token", "logprob", "bytes", "top_logprobs"} for each in content)


def test_case_103_bytes_of_logprobs_join_to_the_text(shared: Running) -> None:
    [choice] = shared.chat("Say emoji", logprobs=True, temperature=0).json()["choices"]
    joined = b"".join(bytes(each["bytes"]) for each in choice["logprobs"]["content"])
    assert joined.decode() == choice["message"]["content"] == "👩‍🚀 你好 é 🇪🇸"
    tokens = [each["token"] for each in choice["logprobs"]["content"]]
    assert tokens[0] == "bytes:\\xf0"
    assert not any("\N{REPLACEMENT CHARACTER}" in token for token in tokens)


def test_case_106_model_names(shared: Running) -> None:
    for name in ("no-such", "", "Fake", "/models/fake.gguf"):
        error = error_of(shared.chat(model=name), 404)
        assert error["code"] == "model_not_found"
        assert error["param"] == "model"
        assert "'fake'" in error["message"]
    missing = shared.http.post(CHAT, json={"messages": [{"role": "user", "content": "x"}]})
    assert error_of(missing)["param"] == "model"
    with pytest.raises(openai.NotFoundError) as caught:
        shared.openai().chat.completions.create(model="gpt-4", messages=[{"role": "user", "content": "x"}])
    assert caught.value.code == "model_not_found"


def test_case_106_aliases_and_any_name() -> None:
    with running(settings=settings_with(aliases=["gpt-4", "org/model"])) as server:
        assert server.chat(model="gpt-4", max_tokens=1).json()["model"] == "fake"
        assert server.chat(model="gpt-5").status_code == 404
        names = [card["id"] for card in server.http.get("/v1/models").json()["data"]]
        assert names == ["fake", "gpt-4", "org/model"]
        assert server.http.get("/v1/models/org/model").json()["id"] == "org/model"
        assert server.http.get("/v1/models/other").json()["error"]["code"] == "model_not_found"
    with running(settings=settings_with(any_model=True)) as server:
        assert server.chat(model="whatever", max_tokens=1).json()["model"] == "fake"


def test_defaults_come_from_the_settings() -> None:
    settings = settings_with(sampling__temperature=0, sampling__max_tokens=5)
    with running(settings=settings) as server:
        answers = [server.chat("Babble", ignore_eos=True).json() for _ in range(3)]
        assert len({answer["choices"][0]["message"]["content"] for answer in answers}) == 1
        assert answers[0]["usage"]["completion_tokens"] == 5
        assert server.complete(ignore_eos=True).json()["usage"]["completion_tokens"] == 5


def test_case_138_keys_share_remembered_prompts_unless_told_otherwise() -> None:
    for isolate, expected in ((False, True), (True, False)):
        with running(settings=settings_with(api_key=["a:one", "b:two"], isolate_keys=isolate)) as server:

            def cached(key: str, server: Running = server) -> int:
                headers = {"Authorization": f"Bearer {key}"}
                body = chat_body("A secret of three hundred tokens", max_tokens=1)
                usage = server.http.post(CHAT, json=body, headers=headers).json()["usage"]
                return int(usage["prompt_tokens_details"]["cached_tokens"])

            assert cached("one") == 0
            assert (cached("two") > 0) is expected
            assert cached("one") > 0


def test_a_model_of_plain_turns_stops_at_the_next_user(shared: Running) -> None:
    model = FakeModel(shared.backend.__class__(cells=2048, replies={"Say hi": "Hello\n### User:\nno"}))
    from reame_core.models.chat_template import ChatTemplate
    from reame_core.models.fallback_templates import PLAIN, PLAIN_STOPS

    model.template = ChatTemplate(PLAIN, stops=PLAIN_STOPS)
    with running(model) as server:
        for stop in (None, [f"stop {number}" for number in range(16)]):
            answer = server.chat(temperature=0, max_tokens=60, stop=stop).json()
            assert "### User" not in answer["choices"][0]["message"]["content"]


def test_what_is_accepted_instead_is_said_in_json(shared: Running) -> None:
    assert error_of(shared.chat(store=True))["message"].endswith("it can be false")
    assert error_of(shared.chat(modalities=["audio"]))["message"].endswith('it can be ["text"]')
