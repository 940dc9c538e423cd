"""Turns, commands and what is remembered, on a real engine."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

from reame_core.cli.chat.reader import Discarded
from reame_core.testing import FakeBackend

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., Any]

REPLIES = {"first question": "first answer", "second question": "second answer", "third": "third answer"}


def press_ctrl_c() -> None:
    """As a terminal does: whichever thread this is, the main one is interrupted."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_the_whole_conversation_is_sent_and_only_what_is_new_is_computed(bench: Make) -> None:
    made = bench(replies=REPLIES, system="Be brief.")
    made.talk("first question")
    first_rows = made.backend.rows_computed
    shown = made.talk("second question")
    assert shown[0] == ("answer", "second answer")
    (status,) = [text for kind, text in shown if kind == "remark"]
    prompt = made.chat.session.chat_tokens(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "first question"},
            {"role": "assistant", "content": "first answer"},
            {"role": "user", "content": "second question"},
        ]
    )
    remembered = int(status.split("remembered ")[1].split(" of")[0])
    assert f" of {len(prompt)}, " in status
    new = len(prompt) - remembered
    assert made.backend.rows_computed - first_rows == new + len(made.backend.tokenize("second answer"))
    # All of the first turn was in memory; the template's end of it was not.
    assert (
        remembered
        >= len(
            made.chat.session.chat_tokens(
                [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "first question"},
                ]
            )
        )
        + len(made.backend.tokenize("first answer"))
        - 1
    )


def test_the_answers_are_those_of_a_chat_that_computes_everything(bench: Make) -> None:
    made = bench(settings={"SAMPLING__MAX_TOKENS": "12"})
    made.talk("one", "two", "/undo", "three", "/retry", "four")
    for end in range(1, len(made.said()), 2):
        fresh = bench(settings={"SAMPLING__MAX_TOKENS": "12"})
        fresh.chat.conversation.messages = made.chat.conversation.messages[: end - 1]
        fresh.talk(made.said()[end - 1][1])
        assert fresh.said()[end] == made.said()[end]


def test_undo_and_retry(bench: Make) -> None:
    made = bench(replies=REPLIES)
    assert made.talk("/undo", "/retry") == [
        ("error", "nothing to undo: no message has been answered yet"),
        ("error", "nothing to retry: no message has been sent yet"),
    ]
    made.talk("first question", "second question", "/undo")
    assert made.said() == [("user", "first question"), ("assistant", "first answer")]
    assert ("remark", "(taken back: second question)") in made.display.shown
    shown = made.talk("/retry")
    assert made.said() == [("user", "first question"), ("assistant", "first answer")]
    assert ("answer", "first answer") in shown
    assert shown[0][1].startswith("(at temperature 0 the same chat has the same answer")
    assert "(at temperature" not in made.talk("/set temperature 0.7", "/retry")[1][1]


def test_an_answer_that_was_cut_is_marked_and_kept(bench: Make) -> None:
    made = bench(replies=REPLIES)
    shown = made.talk("/set max_tokens 5", "first question", "/set max_tokens unlimited", "second question")
    assert ("remark", "(cut at max_tokens, 5)") in shown
    assert made.chat.conversation.messages[1] == {"role": "assistant", "content": "first", "partial": True}
    assert "partial" not in made.chat.conversation.messages[3]
    assert "[assistant, stopped]\nfirst\n" in made.talk("/show history")[0][1]


class Interrupting(FakeBackend):
    """Somebody presses Ctrl-C during batch number ``during``, which ends when the engine has been told."""

    def __init__(self, display: Any, during: int, **options: Any) -> None:
        super().__init__(**{"cells": 1024} | options)
        self._stopping = display.stopping
        self.during = during

    def decode(self, rows: Any) -> None:
        if self.decodes == self.during:
            press_ctrl_c()
            assert self._stopping.wait(20)
        super().decode(rows)


def test_ctrl_c_stops_the_answer_and_not_the_chat(bench: Make, display: Any) -> None:
    backend = Interrupting(display, 10, replies={"tell": "a long story without an end", "and": "then"})
    made = bench(backend=backend, display=display)
    shown = made.talk("tell", "and")
    stopped = shown[0][1]
    assert "a long story without an end".startswith(stopped)
    assert ("remark", "(stopped; what was said is kept)") in shown
    assert made.chat.conversation.messages[1] == {"role": "assistant", "content": stopped, "partial": True}
    assert made.said()[3] == ("assistant", "then")
    # What was said until then is in memory, too.
    status = [text for kind, text in shown if kind == "remark" and "tokens/s" in text][-1]
    asked = len(made.chat.session.chat_tokens([{"role": "user", "content": "tell"}]))
    assert (
        int(status.split("remembered ")[1].split(" of")[0]) >= asked + len(made.backend.tokenize(stopped)) - 1
    )


def test_ctrl_c_before_the_first_word(bench: Make, display: Any) -> None:
    # 100 tokens of prompt take several batches, so nothing has been said when the first one ends
    backend = Interrupting(display, 0, max_rows=32, replies={"tell": "a story"})
    made = bench(backend=backend, display=display)
    long = "x" * 100 + " tell"
    shown = made.talk(long)
    assert shown[0] == ("answer", "")
    assert shown[-1] == ("remark", "(stopped; before the first word; /retry asks again)")
    assert made.said() == []
    shown = made.talk("/retry")
    assert made.said() == [("user", long), ("assistant", "a story")]
    assert not any("temperature" in text for _, text in shown)


def test_a_retry_that_is_stopped_keeps_the_answer_there_was(bench: Make, display: Any) -> None:
    backend = Interrupting(display, -1, max_rows=16, replies=REPLIES)
    made = bench(backend=backend, display=display)
    made.talk("first question")
    made.talk("/set system " + "x" * 60)  # so that everything is computed again, in several batches
    backend.during = backend.decodes
    assert ("answer", "") in made.talk("/retry")
    assert made.said() == [("user", "first question"), ("assistant", "first answer")]
    assert made.chat.conversation.unanswered is None


def test_ctrl_c_at_the_prompt(bench: Make) -> None:
    assert bench().talk(KeyboardInterrupt(), Discarded(), KeyboardInterrupt()) == [
        ("remark", "(to leave: /bye or Ctrl-D)"),
        ("remark", "(to leave: /bye or Ctrl-D)"),
    ]


@pytest.mark.parametrize("command", ["/bye", "/exit", "/quit", "/BYE ", "/q"])
def test_leaving(command: str, bench: Make) -> None:
    assert bench().talk(command, "/undo") == []


def test_nothing_typed_is_nothing_asked(bench: Make) -> None:
    made = bench()
    assert made.talk("", "  ", "\n", '""""""', '"""\n"""') == []
    assert made.backend.decodes == 0


def test_the_end_of_the_context_is_told_with_what_to_do(bench: Make) -> None:
    made = bench(context=128, settings={"SAMPLING__MAX_TOKENS": "4"})
    made.talk("a" * 60)
    before = made.said()
    ((kind, error),) = made.talk("b" * 60)
    assert kind == "error"
    assert "the context is full: with this message the chat has" in error
    assert "the context holds 128" in error
    for way in ("/clear", "/undo", "/set drop_oldest on", "/retry"):
        assert way in error
    assert made.said() == before
    # Each of these ways leads on.
    made.talk("/set drop_oldest on", "/retry")
    assert made.said()[0] == ("user", "b" * 60)
    assert ("remark", "(the context is full: the oldest turn is forgotten)") in made.display.shown


def test_a_question_that_did_not_fit_is_answered_after_clear(bench: Make) -> None:
    made = bench(context=128, settings={"SAMPLING__MAX_TOKENS": "4"})
    made.talk("a" * 60, "b" * 60, "/clear", "/retry")
    assert [text for role, text in made.said() if role == "user"] == ["b" * 60]


def test_a_message_too_long_for_any_context(bench: Make) -> None:
    for settings in ({}, {"CHAT__DROP_OLDEST": "on"}):
        made = bench(context=64, settings=settings)
        ((kind, error),) = made.talk("a" * 100)
        assert kind == "error"
        assert "this message alone has" in error
        assert "the context holds 64" in error


def test_an_answer_that_fills_the_context(bench: Make) -> None:
    made = bench(context=64, end_bias=-50.0)
    shown = made.talk("hi")
    (cut,) = [text for kind, text in shown if text.startswith("(cut: the context of 64 tokens is full;")]
    assert "/clear starts anew" in cut
    assert made.chat.conversation.messages[1]["partial"] is True


def test_oldest_turns_are_forgotten_for_a_long_chat(bench: Make) -> None:
    made = bench(context=256, settings={"CHAT__DROP_OLDEST": "on", "SAMPLING__MAX_TOKENS": "8"})
    for turn in range(12):
        made.talk(f"question {turn} " + "x" * 20)
        assert made.said()[-2][1].startswith(f"question {turn} ")
    assert not made.display.of("error")
    told = [text for text in made.display.of("remark") if "forgotten" in text]
    assert told
    # Not at every turn: what remains has to be computed again.
    assert len(told) < 6


def test_a_failure_of_the_engine_is_told_and_the_chat_goes_on(bench: Make) -> None:
    made = bench(backend=FakeBackend(cells=1024, fail_on=[1], replies=REPLIES))
    shown = made.talk("first question", "second question")
    assert [kind for kind, _ in shown if kind == "error"] == ["error"]
    assert made.said()[-1] == ("assistant", "second answer")


def test_status_can_be_switched_off(bench: Make) -> None:
    assert bench(replies=REPLIES).talk("/set status off", "first question") == [
        ("say", "status is false"),
        ("answer", "first answer"),
    ]


def test_a_message_may_begin_with_a_slash(bench: Make) -> None:
    made = bench(replies={"/etc": "a folder"})
    shown = made.talk("/etc/hosts holds what?", " /etc")
    assert shown[0] == (
        "error",
        "there is no command /etc/hosts; /help lists them (a message that begins with / needs a blank before "
        "it)",
    )
    assert made.said() == [("user", "/etc"), ("assistant", "a folder")]


def test_half_characters_are_refused(bench: Make) -> None:
    ((kind, error),) = bench().talk("caf\udce9")
    assert (kind, error) == ("error", "the message is not valid UTF-8 text (at character 4)")


def test_seeded_chats_repeat(bench: Make) -> None:
    answers = []
    for _ in range(2):
        made = bench(settings={"SAMPLING__TEMPERATURE": "1", "SAMPLING__MAX_TOKENS": "10"}, seed=7)
        made.talk("one", "two")
        answers.append(made.said())
    assert answers[0] == answers[1]
    made = bench(settings={"SAMPLING__TEMPERATURE": "1", "SAMPLING__MAX_TOKENS": "10"}, seed=8)
    made.talk("one", "two")
    assert made.said() != answers[0]
