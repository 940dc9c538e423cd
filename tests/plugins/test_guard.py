from __future__ import annotations

import logging
from typing import Any

import pytest

from reame_core.plugins.guard import FAILURES_BEFORE_OFF, GuardedCall, one_line, picking, tracing


class Flaky:
    """Raises while ``broken``; counts its calls."""

    def __init__(self) -> None:
        self.broken = True
        self.calls = 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        if self.broken:
            raise ValueError(f"call {self.calls}")
        return arguments


def test_an_answer_comes_through_unchanged() -> None:
    call = GuardedCall("p", "persist", lambda *arguments: arguments)
    assert call(1, "two") == (1, "two")
    assert (call.errors, call.off) == (0, "")


def test_an_exception_becomes_none_and_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    call = GuardedCall("parrot", "persist", Flaky())
    assert call(1) is None
    assert call.errors == 1
    [record] = caplog.records
    assert record.name == "reame.plugins"
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "plugin 'parrot' failed in hook 'persist' and was skipped: ValueError: call 1"


def test_the_traceback_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    call = GuardedCall("p", "persist", Flaky())
    call()
    call()
    first, second = caplog.records
    assert first.exc_info is not None
    assert first.exc_info[1].args == ("call 1",)
    assert not second.exc_info
    assert second.getMessage().endswith("ValueError: call 2")


def test_failures_in_a_row_switch_it_off(caplog: pytest.LogCaptureFixture) -> None:
    flaky = Flaky()
    call = GuardedCall("parrot", "persist", flaky)
    for _ in range(FAILURES_BEFORE_OFF - 1):
        call()
    assert call.off == ""
    call()
    assert call.off == "3 failures in a row, the last: ValueError: call 3"
    flaky.broken = False
    assert call() is None
    assert flaky.calls == call.errors == FAILURES_BEFORE_OFF == 3
    assert [r.getMessage() for r in caplog.records if "switched off" in r.getMessage()] == [
        "hook 'persist' of plugin 'parrot' is switched off: 3 failures in a row, the last: ValueError: call 3"
    ]


def test_a_success_in_between_starts_the_count_anew() -> None:
    flaky = Flaky()
    call = GuardedCall("p", "persist", flaky)
    for broken in [True, True, False, True, True, False]:
        flaky.broken = broken
        call()
    assert (call.errors, call.off) == (4, "")
    flaky.broken = True
    for _ in range(3):
        call()
    assert (call.errors, bool(call.off)) == (7, True)


def test_what_is_to_be_kept_on_is_only_counted() -> None:
    call = GuardedCall("core", "verify", Flaky(), keep_on=True)
    for _ in range(10):
        assert call() is None
    assert (call.errors, call.off) == (10, "")


@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_not_an_error_passes_through(exception: type[BaseException]) -> None:
    def interrupted() -> None:
        raise exception

    call = GuardedCall("p", "persist", interrupted)
    with pytest.raises(exception):
        call()
    assert call.errors == 0


def test_an_unreadable_exception_does_not_break_the_guard(caplog: pytest.LogCaptureFixture) -> None:
    class UnreadableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text for you")

    def fail() -> None:
        raise UnreadableError

    assert GuardedCall("p", "persist", fail)() is None
    assert "UnreadableError: (its text cannot be read)" in caplog.text


def test_one_line_is_one_line_and_not_endless() -> None:
    assert one_line(ValueError("a\n  b")) == "ValueError: a b"
    assert one_line(ValueError()) == "ValueError"
    assert len(one_line(ValueError("word " * 1000))) < 320


GIVEN = ("sequence", "draft", "logits", "chooser")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((), []),
        (("draft",), [2]),
        (("chooser", "sequence"), [4, 1]),
        (("sequence", "draft"), [1, 2]),
        (GIVEN[::-1], [4, 3, 2, 1]),
        (GIVEN, [1, 2, 3, 4]),
    ],
)
def test_arguments_are_picked_by_name_and_passed_by_position(
    wanted: tuple[str, ...], expected: list[int]
) -> None:
    def collect(*arguments: int) -> list[int]:
        return list(arguments)

    assert picking(collect, wanted, GIVEN)(1, 2, 3, 4) == expected


def test_a_full_signature_is_called_directly() -> None:
    assert picking(len, GIVEN, GIVEN) is len


def test_a_trace_tells_hook_plugin_and_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "reame.plugins.trace")
    assert tracing(lambda text: text.upper(), "parrot", "persist")("a") == "A"
    with pytest.raises(AttributeError):
        tracing(lambda text: text.upper(), "parrot", "persist")(1)
    assert [record.name for record in caplog.records] == ["reame.plugins.trace"] * 2
    for record in caplog.records:
        assert record.levelno == logging.INFO
        assert record.getMessage().startswith("persist of parrot: ")
        assert record.getMessage().endswith(" ms")
