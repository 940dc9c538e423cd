"""What a terminal shows after any series of frames, by a terminal that is written in Python."""

from __future__ import annotations

import os
from typing import Any

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reame_core.cli.chat.live_region import LiveRegion
from reame_core.cli.chat.markdown import Line
from reame_core.cli.chat.markdown_display import FIRST_FRAME_S, FRAME_S, SHARE_FOR_PAINTING, MarkdownAnswer

COLUMNS, ROWS = 20, 8


class Terminal:
    """A screen with everything that has left it at the top."""

    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=1000)
        self.stream = pyte.Stream(self.screen)
        self.written: list[str] = []

    def write(self, text: str) -> None:
        self.written.append(text)
        self.stream.feed(text)

    def size(self) -> os.terminal_size:
        return os.terminal_size((self.screen.columns, self.screen.lines))

    def lines(self) -> list[str]:
        gone = ["".join(row[x].data for x in range(self.screen.columns)) for row in self.screen.history.top]
        shown = [line.rstrip() for line in [*gone, *self.screen.display]]
        while shown and not shown[-1]:
            shown.pop()
        return shown


def made(texts: list[str]) -> list[Line]:
    return [Line(text, len(text)) for text in texts]


TEXTS = st.lists(st.text("abc ", max_size=COLUMNS - 1).map(str.rstrip), max_size=4)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(TEXTS, st.lists(st.text("xy", min_size=1, max_size=COLUMNS - 1), max_size=5)), max_size=12
    )
)
def test_lasting_lines_last_and_live_ones_are_replaced(frames: list[tuple[list[str], list[str]]]) -> None:
    terminal = Terminal()
    region = LiveRegion(terminal.write, terminal.size)
    lasting: list[str] = []
    for fresh, live in frames:
        region.show(made(fresh), made(live))
        lasting += fresh
        expected = [*lasting, *live]
        while expected and not expected[-1]:
            expected.pop()
        assert terminal.lines() == expected
        assert terminal.screen.cursor.hidden is False
    region.show([], [])
    terminal.write("after")
    assert terminal.lines() == [*lasting, "after"]


def test_only_what_has_changed_is_written() -> None:
    terminal = Terminal()
    region = LiveRegion(terminal.write, terminal.size)
    region.show([], made(["one", "two", "three"]))
    region.show([], made(["one", "two", "three more"]))
    assert "three more" in terminal.written[-1]
    assert "two" not in terminal.written[-1]
    count = len(terminal.written)
    region.show([], made(["one", "two", "three more"]))
    assert len(terminal.written) == count
    # Nothing is cleared before it is written over, and each frame is one piece.
    assert all("\x1b[2K" not in text and "\x1b[2J" not in text for text in terminal.written)


def test_a_wider_terminal_shows_the_same(clock: Any) -> None:
    terminal = Terminal()
    view = answer(terminal, clock)
    view.add("one two three four five six")
    clock.now += FIRST_FRAME_S
    view.paint("status")
    assert terminal.lines() == ["one two three four", "five six", "status"]
    terminal.screen.resize(ROWS, 40)
    clock.now += 1
    view.paint("status")
    assert terminal.lines() == ["one two three four five six", "status"]
    view.close()
    assert terminal.lines() == ["one two three four five six"]


class Clock:
    now = 100.0
    step = 0.0
    """How long it takes to ask for the time, and so to paint."""

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def answer(terminal: Terminal, clock: Clock) -> MarkdownAnswer:
    return MarkdownAnswer(terminal.write, terminal.size, clock)


def test_nothing_is_shown_before_the_first_frame(clock: Clock) -> None:
    terminal = Terminal()
    view = answer(terminal, clock)
    assert view.paint("reading") == pytest.approx(FIRST_FRAME_S)
    view.add("quick")
    view.close()
    assert len(terminal.written) == 2  # the text and the end of its line
    assert terminal.lines() == ["quick"]


def test_frames_keep_their_distance(clock: Clock) -> None:
    terminal = Terminal()
    view = answer(terminal, clock)
    clock.now += FIRST_FRAME_S
    view.add("one")
    view.paint("")
    view.add(" two")
    assert view.paint("") == pytest.approx(FRAME_S)
    assert terminal.lines() == ["one"]
    clock.now += FRAME_S
    view.paint("")
    assert terminal.lines() == ["one two"]


def test_slow_painting_is_done_less_often(clock: Clock) -> None:
    terminal = Terminal()
    view = answer(terminal, clock)
    clock.now += FIRST_FRAME_S
    clock.step = 0.5
    view.add("one")
    view.paint("")
    clock.step = 0
    assert view.paint("") == pytest.approx(SHARE_FOR_PAINTING * 0.5)


def test_a_block_taller_than_the_screen_is_whole_at_the_end(clock: Clock) -> None:
    terminal = Terminal()
    view = answer(terminal, clock)
    code = [f"line {number}" for number in range(30)]
    view.add("before\n\n```\n")
    for line in code:
        view.add(line + "\n")
        clock.now += 1
        view.paint("status")
        assert terminal.lines()[-1] == "status"
        assert terminal.lines()[0] == "before"
    view.close()
    assert terminal.lines() == ["before", "", "```", *code, "```"]


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["word ", "\n", "\n\n", "- item\n", "```\n", "你好", "1. ", "long" * 9, "**b** "]),
        max_size=40,
    )
)
def test_what_stays_is_the_same_however_it_came(pieces: list[str]) -> None:
    terminal, clock = Terminal(), Clock()
    view = answer(terminal, clock)
    for piece in pieces:
        view.add(piece)
        clock.now += 1
        view.paint("status")
    view.close()
    at_once = Terminal()
    whole = answer(at_once, clock)
    whole.add("".join(pieces))
    whole.close()
    assert terminal.lines() == at_once.lines()


def test_a_model_cannot_control_the_terminal(clock: Clock) -> None:
    terminal = Terminal(columns=60)
    view = answer(terminal, clock)
    view.add("a\x1b[2Jb\x1b]0;title\x07c\x9b31md\re\x00f\x7fg `\x1b[31m`\n```\n\x1b[H\n```\n")
    clock.now += 1
    view.paint("\x1b[2J")
    view.close()
    assert terminal.lines() == ["a�[2Jb�]0;title�c�31md�e�f�g �[31m", "", "```", "�[H", "```"]
    assert terminal.screen.title == ""
