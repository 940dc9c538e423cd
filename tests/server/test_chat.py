"""POST /v1/chat/completions with the real OpenAI client."""

from __future__ import annotations

import openai
import pytest

from tests.server.support import Running, chat_body

MESSAGES: list[dict[str, str]] = [{"role": "user", "content": "Say hi"}]


def test_an_answer(shared: Running) -> None:
    answer = shared.openai().chat.completions.create(model="fake", messages=MESSAGES, temperature=0)
    assert answer.object == "chat.completion"
    assert answer.id.startswith("chatcmpl-")
    assert answer.model == "fake"
    assert answer.system_fingerprint
    [choice] = answer.choices
    assert choice.message.content == "Hello there!"
    assert choice.message.role == "assistant"
    assert choice.finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_case_84_replies_pass_strict_validation(shared: Running) -> None:
    for fields in ({}, {"logprobs": True, "top_logprobs": 2}, {"n": 2}):
        raw = shared.chat(**fields).json()
        openai.types.chat.ChatCompletion.model_validate(raw, strict=True)
        assert raw["choices"][0]["message"]["refusal"] is None
    text = shared.complete(logprobs=2, max_tokens=3).json()
    openai.types.Completion.model_validate(text, strict=True)
    for model in shared.http.get("/v1/models").json()["data"]:
        openai.types.Model.model_validate(model, strict=True)
    for chunk in shared.chunks("/v1/chat/completions", chat_body(stream_options={"include_usage": True})):
        openai.types.chat.ChatCompletionChunk.model_validate(chunk, strict=True)


def test_case_105_prompt_tokens_do_not_depend_on_the_cache(shared: Running) -> None:
    usages = [shared.chat("The same again and again", max_tokens=2).json()["usage"] for _ in range(3)]
    assert len({usage["prompt_tokens"] for usage in usages}) == 1
    for usage in usages:
        assert 0 <= usage["prompt_tokens_details"]["cached_tokens"] <= usage["prompt_tokens"]
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usages[2]["prompt_tokens_details"]["cached_tokens"] == usages[2]["prompt_tokens"] - 1


def test_the_report_says_where_tokens_came_from(shared: Running) -> None:
    shared.chat("Where do they come from", max_tokens=1)
    report = shared.chat("Where do they come from", max_tokens=4).json()
    sources = report["reame"]["prompt_tokens"]
    assert sum(sources.values()) == report["usage"]["prompt_tokens"]
    assert sources["ram"] == report["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    assert report["reame"]["timings"]["decode_ms"] >= 0
    assert report["reame"]["speculation"] == {"drafted": 0, "accepted": 0}


@pytest.mark.parametrize("bypass", [{"reame": {"cache": "bypass"}}, {"cache_prompt": False}])
def test_the_cache_can_be_bypassed(shared: Running, bypass: dict[str, object]) -> None:
    shared.chat("Do not look it up", max_tokens=1)
    usage = shared.chat("Do not look it up", max_tokens=1, **bypass).json()["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == 0


def test_case_110_n_answers(shared: Running) -> None:
    answer = shared.chat("Something", n=3, max_tokens=6, ignore_eos=True).json()
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert answer["usage"]["completion_tokens"] == 18
    many = shared.chat("Something", n=9, max_tokens=2)  # more than are computed at once: they queue
    assert len(many.json()["choices"]) == 9


def test_case_109_seeded_choices_differ_and_repeat(shared: Running) -> None:
    def texts() -> list[str]:
        answer = shared.chat("Roll the dice", n=5, seed=7, temperature=1.5, max_tokens=8, ignore_eos=True)
        return [choice["message"]["content"] for choice in answer.json()["choices"]]

    assert texts() == texts()
    assert len(set(texts())) == 5


def test_case_77_seeds(shared: Running) -> None:
    def text(**fields: object) -> str:
        body = shared.chat("Roll", temperature=1.5, max_tokens=12, ignore_eos=True, **fields).json()
        return str(body["choices"][0]["message"]["content"])

    assert text(seed=42) == text(seed=42)
    assert len({text() for _ in range(5)}) == 5
    assert text(seed=-1) == text(seed=-1)  # an ordinary seed
    assert text(seed=2**63) == text(seed=2**63)
    refused = shared.chat(seed="42")
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "seed"


def test_stop_texts(shared: Running) -> None:
    answer = shared.chat("Say greek", stop=["beta gamma"], temperature=0).json()
    assert answer["choices"][0]["message"]["content"] == "alpha "
    assert answer["choices"][0]["finish_reason"] == "stop"


def test_temperature_is_1_where_nobody_says_otherwise(shared: Running) -> None:
    texts = {
        shared.chat("Random?", max_tokens=12, ignore_eos=True).json()["choices"][0]["message"]["content"]
        for _ in range(4)
    }
    assert len(texts) == 4


def test_two_turns(shared: Running) -> None:
    first = shared.chat().json()
    history = [*MESSAGES, first["choices"][0]["message"], {"role": "user", "content": "Again"}]
    second = shared.http.post("/v1/chat/completions", json=chat_body(messages=history, max_tokens=3))
    assert second.status_code == 200
    cached = second.json()["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached >= first["usage"]["prompt_tokens"]


def test_case_85_an_assistant_turn_with_tool_calls_comes_back(shared: Running) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    counts = set()
    for content in ({"content": None}, {}, {"content": ""}):
        messages = [
            {"role": "user", "content": "x"},
            {"role": "assistant", "tool_calls": [call], **content},
            {"role": "tool", "tool_call_id": "c1", "content": "42"},
        ]
        answer = shared.http.post("/v1/chat/completions", json=chat_body(messages=messages, max_tokens=2))
        assert answer.status_code == 200
        counts.add(answer.json()["usage"]["prompt_tokens"])
    assert len(counts) == 1


def test_case_86_content_as_parts(shared: Running) -> None:
    def prompt_tokens(content: object) -> int:
        messages = [{"role": "user", "content": content}]
        answer = shared.http.post("/v1/chat/completions", json=chat_body(messages=messages, max_tokens=1))
        return int(answer.json()["usage"]["prompt_tokens"])

    parts = [{"type": "text", "text": "Say "}, {"type": "text", "text": "PLUM"}]
    assert prompt_tokens(parts) == prompt_tokens("Say PLUM")
    for part in ({"type": "image_url", "image_url": {"url": "x"}}, {"type": "banana"}):
        messages = [{"role": "user", "content": [part]}]
        refused = shared.http.post("/v1/chat/completions", json=chat_body(messages=messages))
        assert refused.status_code == 400
        assert refused.json()["error"]["param"] == "messages[0].content[0].type"


def test_case_88_developer_is_system(shared: Running) -> None:
    def prompt_tokens(role: str) -> int:
        messages = [{"role": role, "content": "Answer only BANANA"}, {"role": "user", "content": "Capital?"}]
        answer = shared.http.post("/v1/chat/completions", json=chat_body(messages=messages, max_tokens=1))
        return int(answer.json()["usage"]["prompt_tokens"])

    assert prompt_tokens("developer") == prompt_tokens("system")
    refused = shared.http.post("/v1/chat/completions", json=chat_body(messages=[{"role": "banana"}]))
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "messages[0].role"


def test_case_72_empty_messages(shared: Running) -> None:
    def status(messages: list[dict[str, str]]) -> int:
        return shared.http.post(
            "/v1/chat/completions", json=chat_body(messages=messages, max_tokens=2)
        ).status_code

    assert status([]) == 400
    assert status([{"role": "user", "content": ""}]) == 200
    assert status([{"role": "system", "content": "Be brief"}]) == 200
    assert status([{"role": "assistant", "content": "Hello"}]) == 200
    assert status([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]) == 200
    assert status([{"role": "user", "content": "hi"}]) == 200
