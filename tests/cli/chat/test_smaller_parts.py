"""The status line, the plain display, the log that waits."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import pytest

from reame_core.cli.chat.display import PlainDisplay
from reame_core.cli.chat.held_log import held_log
from reame_core.cli.chat.markdown_display import StyledDisplay
from reame_core.cli.chat.status import status_line
from reame_core.cli.logs import Lines
from reame_core.engine.events import Finished, Timings, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator


def ended(completion: int = 11, decode: float = 500.0, **usage: object) -> Finished:
    counted = Usage(**({"prompt": 100, "completion": completion, "computed": 10} | usage))  # type: ignore[arg-type]
    return Finished(0, "stop", counted, Timings(queued=0, prefill=250, decode=decode))


@pytest.mark.parametrize(
    ("finished", "line"),
    [
        (
            ended(reused={"ram": 90}),
            "11 tokens, 20.0 tokens/s, first 0.2 s, remembered 90 of 100, context 111/4096",
        ),
        (
            ended(reused={"ram": 60, "diskkv": 30}, drafts={"palimpsest": (20, 15)}),
            "11 tokens, 20.0 tokens/s, first 0.2 s, remembered 90 of 100 (30 diskkv), "
            "drafts 15 of 20, context 111/4096",
        ),
        (
            ended(completion=1, decode=0),
            "1 token, first 0.2 s, remembered 0 of 100, context 101/4096",
        ),
        (
            ended(completion=0, decode=0),
            "0 tokens, first 0.2 s, remembered 0 of 100, context 100/4096",
        ),
    ],
)
def test_the_status_line(finished: Finished, line: str) -> None:
    assert status_line(finished, 4096) == line


def test_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    display = PlainDisplay()
    display.say("said\n")
    display.remark("(remark)")
    display.complain("wrong")
    with display.answer() as view:
        view.add("one\r\n")
        view.add("two")
        assert view.paint("progress") > 0
    with display.answer() as view:
        view.add("whole line\n")
    with display.answer():
        pass
    assert capsys.readouterr().out == "said\n(remark)\nerror: wrong\none\ntwo\nwhole line\n"


@pytest.fixture
def root_log() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    lines = Lines()
    root.addHandler(lines)
    yield root
    root.removeHandler(lines)


def test_the_log_waits(root_log: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(root_log.handlers)
    with held_log() as log:
        logging.getLogger("reame.test").warning("one")
        assert capsys.readouterr().err == ""
        log.release()
        assert capsys.readouterr().err == "warning: one\n"
        logging.getLogger("reame.test").warning("two")
    assert capsys.readouterr().err == "warning: two\n"
    assert set(root_log.handlers) == set(before)


def test_styled_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reame_core.cli.chat.markdown_display.terminal_size", lambda: os.terminal_size((20, 5)))
    display = StyledDisplay(lambda: True)
    display.remark("(one two three four five)")
    display.complain("six\x1b seven eight nine ten")
    assert capsys.readouterr().out == (
        "\x1b[2m(one two three four\x1b[0m\n\x1b[2mfive)\x1b[0m\n"
        "\x1b[31merror:\x1b[0m six� seven\neight nine ten\n"
    )
