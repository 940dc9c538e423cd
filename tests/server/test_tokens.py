"""POST /tokenize and /detokenize."""

from __future__ import annotations

from typing import Any

import pytest
import structlog

from reame_core.testing import fake_vocabulary as vocabulary
from tests.server.support import Running


def tokenize(server: Running, **body: Any) -> Any:
    response = server.http.post("/tokenize", json=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("field", ["content", "prompt"])
def test_a_text(shared: Running, field: str) -> None:
    answer = tokenize(shared, **{field: "the thing"})
    assert answer["tokens"] == vocabulary.tokenize("the thing")
    assert answer["count"] == len(answer["tokens"])
    assert answer["max_model_len"] == 512


def test_special_texts(shared: Running) -> None:
    text = "a<|im_end|>"
    assert tokenize(shared, content=text)["tokens"] == list(text.encode())
    parsed = tokenize(shared, content=text, parse_special=True)["tokens"]
    assert parsed == [ord("a"), vocabulary.TURN_END]
    assert tokenize(shared, content="a", add_special=True)["tokens"] == [vocabulary.BOS, ord("a")]
    both = tokenize(shared, content=text, add_special=True, parse_special=True)["tokens"]
    assert both == [vocabulary.BOS, ord("a"), vocabulary.TURN_END]


def test_messages_are_the_prompt_of_a_chat(shared: Running) -> None:
    messages = [{"role": "user", "content": "Say hi"}]
    answer = tokenize(shared, messages=messages)
    assert answer["count"] == shared.chat(max_tokens=1).json()["usage"]["prompt_tokens"]


def test_pieces(shared: Running) -> None:
    answer = tokenize(shared, content="é", with_pieces=True)
    assert answer["tokens"] == [{"id": 195, "piece": "bytes:\\xc3"}, {"id": 169, "piece": "bytes:\\xa9"}]


def test_nothing_to_tokenize(shared: Running) -> None:
    assert tokenize(shared, content="")["tokens"] == []
    assert shared.http.post("/tokenize", json={}).json()["error"]["param"] == "content"


def test_there_and_back(shared: Running) -> None:
    text = "the thing: é 👩‍🚀"
    tokens = tokenize(shared, content=text)["tokens"]
    assert shared.http.post("/detokenize", json={"tokens": tokens}).json() == {"content": text, "prompt": text}


@pytest.mark.parametrize("tokens", [[-1], [vocabulary.SIZE], ["a"], "abc", None])
def test_what_is_no_token(shared: Running, tokens: Any) -> None:
    response = shared.http.post("/detokenize", json={"tokens": tokens})
    assert response.status_code == 400
    assert response.json()["error"]["param"].startswith("tokens")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("tools", [{"type": "function"}]), ("chat_template", "{{ messages }}"), ("add_special_tokens", True)),
        *(("add_generation_prompt", False), ("continue_final_message", True), ("return_token_strs", True)),
    ],
)
def test_fields_that_would_give_other_tokens_are_refused(shared: Running, field: str, value: Any) -> None:
    response = shared.http.post("/tokenize", json={"content": "a", field: value})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == field
    assert error["message"].startswith(f"{field} is not supported here: ")


def test_fields_that_change_nothing_are_taken(shared: Running) -> None:
    harmless = {"model": "fake", "tools": [], "add_generation_prompt": True, "return_token_strs": False}
    with structlog.testing.capture_logs() as lines:
        tokenize(shared, content="a", **harmless)
    assert not [line for line in lines if "ignored" in line["event"]]


def test_unknown_fields_are_logged(shared: Running) -> None:
    with structlog.testing.capture_logs() as lines:
        tokenize(shared, content="a", with_peices=True, colour="red")
        shared.http.post("/detokenize", json={"tokens": [97], "colour": "red"})
    ignored = [line["fields"] for line in lines if line["event"] == "unknown fields are ignored"]
    assert ignored == [["with_peices", "colour"], ["colour"]]
