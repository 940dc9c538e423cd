"""Chats in a pseudo-terminal."""

from __future__ import annotations

import json
import os
import signal
import stat
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .pseudo_terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Start = Callable[..., Terminal]

PROGRAM = Path(__file__).parent / "chat_process.py"
REPLIES = {
    "hello": "**Hi** there",
    "please": "fine",
    "story": "one two three four five six seven eight",
    "fruits": "- apple\n- pear\n\nThat is all.",
    "wide": "你好 é 👩‍🚀",
    "evil": "a\x1b[2Jb\x1b]0;pwned\x07c\x9b5md\x1b[6n",
    "tall": "\n".join(f"line {number}" for number in range(40)),
}


class Gate:
    """Lets batches of the fake model through, one at a time."""

    def __init__(self) -> None:
        self.reading, self._writing = os.pipe()
        self._open = True

    def let(self, count: int) -> None:
        os.write(self._writing, b"x" * count)

    def open(self) -> None:
        """No more waiting."""
        if self._open:
            self._open = False
            os.close(self._writing)

    def close(self) -> None:
        self.open()
        os.close(self.reading)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def start(tmp_path: Path, home: Path) -> Iterator[Start]:
    terminals: list[Terminal] = []

    def start(
        *options: str, gate: Gate | None = None, columns: int = 80, rows: int = 24, **environment: str
    ) -> Terminal:
        variables = dict.fromkeys(("NO_COLOR", "PROMPT_TOOLKIT_NO_CPR"), "")
        variables |= {"REAME_HOME": str(home), "CHAT_REPLIES": json.dumps(REPLIES), "COLUMNS": ""}
        if gate is not None:
            variables["CHAT_GATE"] = str(gate.reading)
        terminal = Terminal(
            [str(PROGRAM), "run", "tiny", *options],
            folder=tmp_path,
            environment=variables | environment,
            columns=columns,
            rows=rows,
            pass_fds=(gate.reading,) if gate else (),
        )
        terminals.append(terminal)
        return terminal

    yield start
    for terminal in terminals:
        terminal.close()


@contextmanager
def gated() -> Iterator[Gate]:
    with closing(Gate()) as gate:
        yield gate


def test_a_conversation(start: Start) -> None:
    terminal = start("--system", "Be brief.")
    terminal.wait_for_prompt()
    terminal.type("hello\r")
    terminal.wait_for("remembered 0 of")
    terminal.wait_for_prompt()
    assert "Hi there" in terminal.lines()  # formatted
    terminal.type("fruits\r")
    terminal.wait_for("That is all.")
    terminal.wait_for_prompt()
    assert terminal.lines()[-6:-2] == [" • apple", " • pear", "", "That is all."]
    terminal.type("/set markdown off\rhello\r")
    terminal.wait_for("**Hi** there")
    terminal.wait_for_prompt()
    terminal.type("\x04")
    assert terminal.wait_for_end() == 0
    assert terminal.current_settings() == terminal.settings
    assert terminal.shows_cursor()


def test_ctrl_c_while_the_prompt_is_read(start: Start) -> None:
    with gated() as gate:
        terminal = start(gate=gate)
        terminal.wait_for_prompt()
        terminal.type("x" * 100 + " story\r")
        terminal.wait_for("reading ")
        terminal.type("\x03")
        terminal.wait_for("stopping ...")
        gate.open()
        terminal.wait_for("(stopped; before the first word; /retry asks again)")
        terminal.wait_for_prompt()
        terminal.type("/retry\r")
        terminal.wait_for("seven eight")
        terminal.wait_for_prompt()
        assert "stopping" not in terminal.text()
        terminal.type("/bye\r")
        assert terminal.wait_for_end() == 0


def test_ctrl_c_in_an_answer(start: Start) -> None:
    with gated() as gate:
        terminal = start(gate=gate)
        terminal.wait_for_prompt()
        terminal.type("story\r")
        gate.let(12)  # two of these are the prompt's
        terminal.wait_for("one two")
        terminal.type("\x03")
        terminal.wait_for("stopping ...")
        gate.open()
        terminal.wait_for("(stopped; what was said is kept)")
        terminal.wait_for_prompt()
        assert "seven eight" not in terminal.text()
        terminal.type("/show history\r")
        terminal.wait_for("[assistant, stopped]")
        terminal.wait_for_prompt()
        terminal.type("hello\r")
        terminal.wait_for("Hi there")
        terminal.wait_for_prompt()


def test_a_second_ctrl_c_does_not_wait_for_the_engine(start: Start) -> None:
    with gated() as gate:
        terminal = start(gate=gate)
        terminal.wait_for_prompt()
        terminal.type("story\r")
        terminal.wait_for("reading ")
        terminal.type("\x03")
        terminal.wait_for("stopping ...")
        terminal.type("\x03")
        terminal.wait_for("(stopped; before the first word; /retry asks again)")
        terminal.wait_for_prompt()
        gate.open()
        terminal.type("hello\r")
        terminal.wait_for("Hi there")


def test_ctrl_c_at_the_prompt(start: Start) -> None:
    terminal = start()
    terminal.wait_for_prompt()
    terminal.type("hel")
    terminal.wait_for(">>> hel")
    terminal.type("\x03")
    terminal.wait_for_prompt()
    assert "/bye or Ctrl-D)" not in terminal.text()
    terminal.type("\x03")
    terminal.wait_for("(to leave: /bye or Ctrl-D)")
    terminal.wait_for_prompt()
    terminal.process.send_signal(signal.SIGINT)
    terminal.wait_for(lambda: terminal.text().count("(to leave: /bye or Ctrl-D)") == 2)
    terminal.wait_for_prompt()
    terminal.type("/bye\r")
    assert terminal.wait_for_end() == 0


def test_several_lines(start: Start, home: Path) -> None:
    terminal = start()
    terminal.wait_for_prompt()
    terminal.type("one\x1b\rplease\r")  # Alt-Enter
    terminal.wait_for("remembered")
    terminal.wait_for_prompt()
    terminal.type('"""three\rplease\r"""\r')
    terminal.wait_for(lambda: terminal.text().count("remembered") == 2)
    terminal.wait_for_prompt()
    terminal.type("\x1b[200~five\nsix\n\nplease\x1b[201~")  # pasted
    terminal.wait_for("\n...\n... please")
    assert terminal.text().count("remembered") == 2  # nothing was sent
    terminal.type("\r")
    terminal.wait_for(lambda: terminal.text().count("remembered") == 3)
    terminal.wait_for_prompt()
    terminal.type("/save lines\r")
    terminal.wait_for("(saved to")
    terminal.wait_for_prompt()
    saved = json.loads((home / "state" / "chats" / "lines.json").read_text())
    asked = [message["content"] for message in saved["messages"] if message["role"] == "user"]
    assert asked == ["one\nplease", "three\nplease", "five\nsix\n\nplease"]


def test_what_is_typed_meanwhile_waits_unseen(start: Start) -> None:
    with gated() as gate:
        terminal = start(gate=gate)
        terminal.wait_for_prompt()
        terminal.type("story\r")
        terminal.wait_for("reading ")
        terminal.type("hello\r")
        gate.open()
        terminal.wait_for("Hi there")
        terminal.wait_for_prompt()
        lines = terminal.lines()
        assert lines.index("one two three four five six seven eight") < lines.index(">>> hello")
        assert terminal.text().count("hello") == 1


def test_earlier_chats_are_a_key_away(start: Start, home: Path) -> None:
    path = home / "state" / "chat_history"
    first = start()
    first.wait_for_prompt()
    first.type("hello\r")
    first.wait_for("Hi there")
    first.wait_for_prompt()
    first.type("\x04")
    first.wait_for_end()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = start()
    second.wait_for_prompt()
    second.type("\x1b[A")
    second.wait_for(">>> hello")
    second.type("\x03")
    second.wait_for_prompt()
    second.type("/set history off\r")
    second.wait_for("history is false")
    second.wait_for_prompt()
    second.type("private please\r")
    second.wait_for("remembered")
    second.wait_for_prompt()
    second.type("\x04")
    second.wait_for_end()
    assert "private" not in path.read_text()


def test_no_history_where_it_is_switched_off(start: Start, home: Path) -> None:
    terminal = start(REAME_CHAT__HISTORY="off")
    terminal.wait_for_prompt()
    terminal.type("hello\r")
    terminal.wait_for("Hi there")
    terminal.wait_for_prompt()
    terminal.type("\x04")
    terminal.wait_for_end()
    assert not (home / "state" / "chat_history").exists()


def test_completion(start: Start) -> None:
    terminal = start()
    terminal.wait_for_prompt()
    terminal.type("/he\t")
    terminal.wait_for(">>> /help")
    terminal.type("\x15/set temp\t")
    terminal.wait_for(">>> /set temperature")


def test_resizing(start: Start) -> None:
    with gated() as gate:
        terminal = start(gate=gate, columns=30)
        terminal.wait_for_prompt()
        terminal.type("story\r")
        gate.let(20)
        terminal.wait_for(lambda: "one two" in terminal.text() and "tokens" in terminal.lines()[-1])
        terminal.resize(60, 24)
        gate.open()
        terminal.wait_for("one two three four five six seven eight")
        terminal.wait_for_prompt()
        assert terminal.text().count("one two") == 1
        terminal.resize(25, 10)
        terminal.type("hello\r")
        terminal.wait_for("Hi there")
        terminal.wait_for_prompt()


def test_an_answer_taller_than_the_screen(start: Start) -> None:
    terminal = start(rows=10)
    terminal.wait_for_prompt()
    terminal.type("tall\r")
    terminal.wait_for("remembered")
    terminal.wait_for_prompt()
    lines = terminal.lines()
    at = lines.index("line 0")
    assert lines[at : at + 40] == [f"line {number}" for number in range(40)]


def test_characters_of_all_widths(start: Start, home: Path) -> None:
    terminal = start()
    terminal.wait_for_prompt()
    terminal.type("wide 日本 👩‍🚀 ü\r")
    terminal.wait_for("remembered")
    terminal.wait_for_prompt()
    assert "你好 é 👩‍🚀".encode() in terminal.output
    terminal.type("/save wide\r")
    terminal.wait_for("(saved to")
    saved = json.loads((home / "state" / "chats" / "wide.json").read_text())
    assert [message["content"] for message in saved["messages"]] == ["wide 日本 👩‍🚀 ü", "你好 é 👩‍🚀"]


@pytest.mark.parametrize("environment", [{}, {"REAME_CHAT__MARKDOWN": "off"}, {"TERM": "dumb"}])
def test_a_model_does_not_control_the_terminal(environment: dict[str, str], start: Start) -> None:
    terminal = start(**environment)
    terminal.wait_for(">>>")
    terminal.type("evil\r" if not environment.get("TERM") else "evil\n")
    terminal.wait_for("remembered")
    assert "a�[2Jb�]0;pwned�c�5md�[6n" in terminal.lines()
    for sequence in (b"\x1b[2J", b"\x1b]0;", b"\x1b[6nremembered", b"\xc2\x9b"):
        assert sequence not in terminal.output
    # In the transcript, too.
    terminal.wait_for_prompt()
    terminal.type("/show history\n")
    terminal.wait_for(lambda: terminal.text().count("a�[2Jb�]0;pwned�c�5md�[6n") == 2)
    assert b"\x1b]0;" not in terminal.output


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_plain_terminals(environment: dict[str, str], start: Start) -> None:
    terminal = start(**environment)
    terminal.wait_for_prompt()
    terminal.type("hello\n")
    terminal.wait_for("**Hi** there\n10 tokens")
    terminal.wait_for_prompt()
    terminal.type('"""one\n')
    terminal.wait_for("...")
    terminal.type('please"""\n')
    terminal.wait_for(lambda: terminal.text().count("remembered") == 2)
    terminal.wait_for_prompt()
    terminal.type("\x03")
    terminal.wait_for("(to leave: /bye or Ctrl-D)")
    terminal.wait_for_prompt()
    terminal.type("/retyr\n")
    terminal.wait_for("error: there is no command /retyr; did you mean /retry?")
    terminal.wait_for_prompt()
    terminal.type("\x04")
    assert terminal.wait_for_end() == 0
    terminal.wait_for(lambda: terminal.output.endswith(b"\n"))
    assert b"\x1b" not in terminal.output
    assert terminal.current_settings() == terminal.settings


def test_ctrl_c_in_a_plain_terminal(start: Start) -> None:
    with gated() as gate:
        terminal = start(gate=gate, TERM="dumb")
        terminal.wait_for_prompt()
        terminal.type("story\n")
        gate.let(10)
        terminal.wait_for("one")
        terminal.type("\x03")

        def stopped() -> bool:
            gate.let(1)  # one batch for each look at the screen: the answer is not over before the key is heard
            return "(stopped; what was said is kept)" in terminal.text()

        terminal.wait_for(stopped)
        gate.open()
        terminal.wait_for_prompt()
        terminal.type("hello\n")
        terminal.wait_for("**Hi** there")
        terminal.wait_for_prompt()
        assert b"\x1b" not in terminal.output


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--json"], "error: --json needs a prompt: without one this is a chat"),
        (["-n", "2"], "error: -n needs a prompt: without one this is a chat"),
        (["--raw"], "error: --raw needs a prompt: without one this is a chat"),
        (["--temperature", "-1"], "error: --temperature must be a number from 0 to 100, not -1"),
        (["--seed", "99999999999999999999"], "error: seed must be from"),
    ],
)
def test_options_that_are_wrong_for_a_chat(options: list[str], error: str, start: Start) -> None:
    terminal = start(*options, columns=200)
    assert terminal.wait_for_end() == 2
    terminal.wait_for(error)
    assert len(terminal.lines()) == 1


def test_a_prompt_makes_no_chat(start: Start) -> None:
    terminal = start("hello")
    assert terminal.wait_for_end() == 0
    terminal.wait_for(lambda: terminal.lines() and terminal.lines()[-1] == "**Hi** there")
