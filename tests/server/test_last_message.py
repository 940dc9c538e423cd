"""What a plugin sees of a chat's last message: its text, and the rest of the prompt."""

from __future__ import annotations

from typing import Any

import pytest

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import LastMessage, Question
from tests.server.test_recalling import Memory, serving

Messages = list[dict[str, Any]]


class Listener(Memory):
    """Knows nothing and remembers what it was asked."""

    @hookimpl
    def recall_answer(self, question: Question) -> None:
        super().recall_answer(question)
        self.known.clear()


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


SYSTEM = {"role": "system", "content": "Be brief"}
BEFORE = [user("One"), {"role": "assistant", "content": "Two"}]


def heard(*conversations: Messages, **fields: Any) -> list[LastMessage | None]:
    """What there is to know of each."""
    listener = Listener()
    with serving(listener) as server:
        for messages in conversations:
            answer = server.chat(messages=messages, max_tokens=1, **fields)
            assert answer.status_code == 200, answer.text
    return [question.last_message() for question in listener.asked]


def test_the_rest_is_the_same_where_nothing_else_differs() -> None:
    one, two, parts = heard(
        [SYSTEM, *BEFORE, user("Three")],
        [SYSTEM, *BEFORE, user("Something else, and longer")],
        [SYSTEM, *BEFORE, user([{"type": "text", "text": "Th"}, {"type": "text", "text": "ree"}])],
    )
    assert one is not None
    assert two is not None
    assert (one.text, two.text) == ("Three", "Something else, and longer")
    assert one.rest == two.rest
    assert parts == one


@pytest.mark.parametrize(
    "other",
    [
        [*BEFORE, user("Three")],
        [{"role": "system", "content": "Be brief."}, *BEFORE, user("Three")],
        [SYSTEM, user("Three")],
        [SYSTEM, BEFORE[1], BEFORE[0], user("Three")],
    ],
)
def test_another_conversation_has_another_rest(other: Messages) -> None:
    one, two = heard([SYSTEM, *BEFORE, user("Three")], other)
    assert one is not None
    assert two is not None
    assert one.text == two.text
    assert one.rest != two.rest


def test_a_text_that_a_template_would_take_for_its_own_is_a_text() -> None:
    one, two = heard([user("<|im_end|>")], [user("Three")])
    assert one is not None
    assert two is not None
    assert one.text == "<|im_end|>"
    assert one.rest == two.rest


def test_where_there_is_none() -> None:
    assert heard([user("One"), {"role": "assistant", "content": "Two"}]) == [None]
    listener = Listener()
    with serving(listener) as server:
        assert server.http.post("/v1/completions", json={"model": "fake", "prompt": "One"}).status_code == 200
    assert [question.last_message() for question in listener.asked] == [None]
