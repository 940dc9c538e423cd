"""Answers become content, calls and thoughts, whatever the pieces in which they come."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_suggeritore.structured.reply import ToolReplyParser
from reame_suggeritore.structured.thoughts import ThoughtParser
from reame_suggeritore.structured.tool_format import DEFAULT, LLAMA3, ToolFormat

from reame_core.plugins.api import ReplyParser, ThoughtPart, ToolCallPart
from tests.engine.support import thorough

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "}{\\"</tool_call>", "b": [1, {}]}}\n</tool_call>'
ARGUMENTS = '{"a": "}{\\"</tool_call>", "b": [1, {}]}'
EMPTY = '<tool_call>\n{"name": "g-2", "arguments": {}}\n</tool_call>'

Told = tuple[str, str, list[tuple[str, str]]]


def told(parser: ReplyParser, pieces: Sequence[str]) -> Told:
    """(thoughts, content, calls as (name, arguments)); the form of the parts is checked."""
    thoughts = content = ""
    calls: list[list[str]] = []
    parts = [part for piece in pieces for part in parser.push(piece)]
    for part in [*parts, *parser.end()]:
        if isinstance(part, str):
            assert part
            content += part
        elif isinstance(part, ThoughtPart):
            assert part.text
            thoughts += part.text
        else:
            assert isinstance(part, ToolCallPart)
            if part.id:
                assert part.index == len(calls)
                assert not part.arguments
                calls.append([part.name, ""])
            else:
                calls[part.index][1] += part.arguments
    return thoughts, content, [(name, arguments) for name, arguments in calls]


def cut(text: str, places: set[int]) -> list[str]:
    borders = [0, *sorted(place for place in places if 0 < place < len(text)), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(borders)]


CASES: list[tuple[ToolFormat, str, str, list[tuple[str, str]]]] = [
    (DEFAULT, "", "", []),
    (DEFAULT, "no call", "no call", []),
    (DEFAULT, "a < b <tool", "a < b <tool", []),
    (DEFAULT, "ends with blanks  \n", "ends with blanks  \n", []),
    (DEFAULT, CALL, "", [("f", ARGUMENTS)]),
    (DEFAULT, f"first\n\n{CALL}", "first", [("f", ARGUMENTS)]),
    (DEFAULT, f"\n{CALL}\n{EMPTY}", "", [("f", ARGUMENTS), ("g-2", "{}")]),
    (DEFAULT, f"{EMPTY}\n{CALL}\n", "", [("g-2", "{}"), ("f", ARGUMENTS)]),
    (DEFAULT, CALL[:20], "", []),
    (DEFAULT, CALL[:50], "", [("f", CALL[:50].split('"arguments": ')[1])]),
    (LLAMA3, "no call", "no call", []),
    (LLAMA3, " {no call", " {no call", []),
    (LLAMA3, '{"name": "f", "parameters": ' + ARGUMENTS + "}", "", [("f", ARGUMENTS)]),
]


@pytest.mark.parametrize(("form", "text", "content", "calls"), CASES)
def test_every_border(form: ToolFormat, text: str, content: str, calls: list[tuple[str, str]]) -> None:
    wanted = ("", content, calls)
    assert told(ToolReplyParser(form), [text]) == wanted
    assert told(ToolReplyParser(form), list(text)) == wanted
    for place in range(1, len(text)):
        assert told(ToolReplyParser(form), cut(text, {place})) == wanted


@thorough(60)
@given(
    st.lists(st.sampled_from(["text ", "<", "<tool", "\n", CALL, EMPTY, " blank"]), max_size=5).map("".join),
    st.sets(st.integers(1, 200), max_size=12),
)
def test_borders_do_not_matter(text: str, places: set[int]) -> None:
    assert told(ToolReplyParser(DEFAULT), cut(text, places)) == told(ToolReplyParser(DEFAULT), [text])


@pytest.mark.parametrize(
    ("begun", "text", "thoughts", "content"),
    [
        (False, "<think>\nhm </think>\n\n{}", "\nhm", "{}"),
        (True, "hm\n</think> answer ", "hm", "answer "),
        (True, "", "", ""),
        (False, "<th", "", "<th"),
        (False, "  <think></think>x", "", "x"),
        (False, "no thoughts </think>", "", "no thoughts </think>"),
        (True, "cut off </thi", "cut off </thi", ""),
        (True, "hm</think>  ", "hm", ""),
    ],
)
def test_thoughts_are_no_content(begun: bool, text: str, thoughts: str, content: str) -> None:
    for pieces in ([text], list(text)):
        assert told(ThoughtParser(None, begun=begun), pieces) == (thoughts, content, [])


@pytest.mark.parametrize("pieces", [list, lambda text: [text]])
def test_calls_behind_thoughts(pieces: Any) -> None:
    text = f"<think>shall I <tool_call>?</think>\nYes.\n{CALL}"
    parser = ThoughtParser(ToolReplyParser(DEFAULT), begun=False)
    assert told(parser, pieces(text)) == ("shall I <tool_call>?", "Yes.", [("f", ARGUMENTS)])
