"""Streams: their chunks, their end, and what they add up to."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import openai
import pytest
from hypothesis import given

from tests.server.support import Running, chat_body, content_of, few_examples

CHAT = "/v1/chat/completions"


def test_with_the_openai_client(shared: Running) -> None:
    stream = shared.openai().chat.completions.create(
        model="fake", messages=[{"role": "user", "content": "Say hi"}], stream=True, temperature=0
    )
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello there!"
    assert chunks[-1].choices[0].finish_reason == "stop"


@pytest.mark.parametrize("n", [1, 2])
def test_case_83_every_chunk_is_complete(shared: Running, n: int) -> None:
    chunks = shared.chunks(CHAT, chat_body(n=n, max_tokens=5))
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
    for chunk in chunks:
        assert chunk["object"] == "chat.completion.chunk"
        for choice in chunk["choices"]:
            assert {"index", "delta", "finish_reason"} <= choice.keys()
    for index in range(n):
        choices = [c for chunk in chunks for c in chunk["choices"] if c["index"] == index]
        assert choices[0]["delta"]["role"] == "assistant"
        assert [c["finish_reason"] for c in choices].count(None) == len(choices) - 1
        assert choices[-1]["delta"] == {}
        assert choices[-1]["finish_reason"] in ("stop", "length")


def test_case_83_an_empty_answer_has_a_finishing_chunk(shared: Running) -> None:
    chunks = shared.chunks(CHAT, chat_body(stop="H", temperature=0))
    assert content_of(chunks) == ""
    assert [c["finish_reason"] for chunk in chunks for c in chunk["choices"]] == [None, "stop"]


@pytest.mark.parametrize(
    ("options", "asked"), [({"include_usage": True}, True), ({"include_usage": False}, False), (None, False)]
)
@pytest.mark.parametrize("fields", [{}, {"n": 2}, {"stop": "there"}])
def test_case_82_usage_comes_only_when_asked(
    shared: Running, options: dict[str, bool] | None, asked: bool, fields: dict[str, Any]
) -> None:
    for path, body in ((CHAT, chat_body(**fields)), ("/v1/completions", {"model": "fake", "prompt": "Say hi"})):
        chunks = shared.chunks(path, body | {"stream_options": options, "temperature": 0})
        with_usage = [chunk for chunk in chunks if chunk.get("usage")]
        if not asked:
            assert with_usage == []
            assert all("usage" not in chunk for chunk in chunks)
            assert all(chunk["choices"] for chunk in chunks)
        else:
            assert with_usage == chunks[-1:]
            assert chunks[-1]["choices"] == []
            assert all(chunk["usage"] is None for chunk in chunks[:-1])


def test_case_111_choices_are_told_apart(shared: Running) -> None:
    body = chat_body("Two ways", n=2, seed=3, temperature=1.2, max_tokens=10)
    whole = shared.http.post(CHAT, json=body).json()["choices"]
    chunks = shared.chunks(CHAT, body)
    for choice in whole:
        assert content_of(chunks, choice["index"]) == choice["message"]["content"]


@given(
    text=st.sampled_from(["Say hi", "Say emoji", "Say greek", "Babble on"]),
    seed=st.integers(0, 1000),
    max_tokens=st.integers(1, 30),
    stop=st.lists(st.sampled_from(["a", "e g", "ta", "\U0001f680", " ", "the"]), max_size=3),
    n=st.integers(1, 3),
    logprobs=st.booleans(),
)
@few_examples
def test_joined_deltas_are_the_whole_answer(
    shared: Running, text: str, seed: int, max_tokens: int, stop: list[str], n: int, logprobs: bool
) -> None:
    body = chat_body(text, seed=seed, max_tokens=max_tokens, stop=stop, n=n, logprobs=logprobs)
    whole = shared.http.post(CHAT, json=body).json()
    chunks = shared.chunks(CHAT, body | {"stream_options": {"include_usage": True}})
    for choice in whole["choices"]:
        streamed = [c for chunk in chunks for c in chunk["choices"] if c["index"] == choice["index"]]
        assert "".join(c["delta"].get("content") or "" for c in streamed) == choice["message"]["content"]
        assert streamed[-1]["finish_reason"] == choice["finish_reason"]
        if logprobs:
            tokens = [t["bytes"] for c in streamed if c["logprobs"] for t in c["logprobs"]["content"]]
            assert tokens == [t["bytes"] for t in choice["logprobs"]["content"]]
    assert chunks[-1]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]


def test_case_73_characters_over_several_tokens(shared: Running) -> None:
    text = "👩‍🚀 你好 é 🇪🇸"
    body = chat_body("Say emoji", temperature=0)
    assert shared.http.post(CHAT, json=body).json()["choices"][0]["message"]["content"] == text
    deltas = [c["delta"].get("content") or "" for ch in shared.chunks(CHAT, body) for c in ch["choices"]]
    assert "".join(deltas) == text
    assert not any("\N{REPLACEMENT CHARACTER}" in delta for delta in deltas)


@pytest.mark.parametrize("max_tokens", range(1, 9))
def test_case_74_a_limit_inside_a_character(shared: Running, max_tokens: int) -> None:
    body = chat_body("Say emoji", temperature=0, max_tokens=max_tokens, logprobs=True)
    [choice] = shared.http.post(CHAT, json=body).json()["choices"]
    assert choice["finish_reason"] == "length"
    assert content_of(shared.chunks(CHAT, body)) == choice["message"]["content"]
    assert "\N{REPLACEMENT CHARACTER}" not in choice["message"]["content"]
    assert "👩‍🚀 你好 é 🇪🇸".startswith(choice["message"]["content"])


@pytest.mark.parametrize("stop", ["beta gamma", "ma del"])
def test_case_75_stop_texts_over_several_tokens_never_leak(shared: Running, stop: str) -> None:
    expected = "alpha beta gamma delta".split(stop)[0]
    chat = chat_body("Say greek", temperature=0, stop=[stop, "\nUser:"])
    assert shared.http.post(CHAT, json=chat).json()["choices"][0]["message"]["content"] == expected
    assert content_of(shared.chunks(CHAT, chat)) == expected
    text = {"model": "fake", "prompt": "Say greek", "temperature": 0, "stop": [stop], "max_tokens": 40}
    assert shared.http.post("/v1/completions", json=text).json()["choices"][0]["text"] == expected
    chunks = shared.chunks("/v1/completions", text)
    assert "".join(c["text"] for chunk in chunks for c in chunk["choices"]) == expected


def test_case_62_two_and_eight_streams_at_once(shared: Running) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def one(number: int) -> tuple[str, str | None]:
        chunks = shared.chunks(CHAT, chat_body(f"Number {number}", seed=1, max_tokens=30, ignore_eos=True))
        return content_of(chunks), chunks[-1]["choices"][0]["finish_reason"]

    alone = [one(number) for number in range(8)]
    for count in (2, 8):
        with ThreadPoolExecutor(count) as pool:
            assert list(pool.map(one, range(count))) == alone[:count]
    assert all(reason == "length" for _, reason in alone)


def test_completion_stream_with_the_openai_client(shared: Running) -> None:
    client: openai.OpenAI = shared.openai()
    stream = client.completions.create(model="fake", prompt="Say hi", stream=True, temperature=0, max_tokens=30)
    chunks = list(stream)
    assert "".join(chunk.choices[0].text for chunk in chunks) == "Hello there!"
    assert chunks[-1].choices[0].finish_reason == "stop"
