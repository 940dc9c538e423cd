"""Nothing that a model writes is lost, whatever it looks like and however it comes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from reame_core.cli.chat.markdown import GrowingMarkdown
from reame_core.cli.terminal import harmless

STYLE = re.compile(r"\x1b\[[\d;]*m")

BLOCKS = [
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "2",
    "# ",
    "> ",
    "```\n",
    "```python\n",
    "    ",
    "\t",
    "---\n",
    "===\n",
    "[a]: b\n",
]
INLINE = [
    "word",
    " ",
    "**",
    "_",
    "`",
    "~~",
    "<b>",
    "[a](b)",
    "![a](b)",
    "\\",
    "&lt;",
    "é",
    "你好",
    "👩\u200d🚀",
]
PIECES = st.sampled_from([*BLOCKS, *INLINE, "|", "|-|-|\n"])
AT_LEISURE = settings(deadline=None)  # lexers are imported when they are first needed


def plain(lines: list) -> list[str]:
    return [STYLE.sub("", line.text) for line in lines]


def rendered(text: str, width: int = 40) -> list[str]:
    markdown = GrowingMarkdown()
    markdown.add(text)
    return plain(markdown.take_all(width))


@AT_LEISURE
@given(st.lists(PIECES, max_size=40), st.integers(10, 60), st.data())
def test_growing_in_pieces_ends_as_if_it_had_come_at_once(
    pieces: list[str], width: int, data: st.DataObject
) -> None:
    text = "".join(pieces)
    markdown = GrowingMarkdown()
    lines = []
    while text:
        size = data.draw(st.integers(1, len(text)))
        markdown.add(text[:size])
        text = text[size:]
        lines += markdown.take_finished(width)
    lines += markdown.take_all(width)
    assert plain(lines) == rendered("".join(pieces), width)


@AT_LEISURE
@given(st.lists(PIECES, max_size=40), st.integers(10, 60))
def test_lines_fit_and_hold_no_control_characters(pieces: list[str], width: int) -> None:
    markdown = GrowingMarkdown()
    markdown.add("".join(pieces))
    for line in [*markdown.unfinished(width), *markdown.take_all(width)]:
        text = STYLE.sub("", line.text)
        assert text.isprintable() or "\u200d" in text
        # more where a highlighter parts what belongs to one character
        assert cell_len(text) <= line.cells <= width
        # A style that went on after its line would colour whatever comes next.
        assert "\x1b" not in line.text or line.text.rindex("\x1b[0m") == line.text.rindex("\x1b")


@AT_LEISURE
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_no_text_can_stop_it(text: str) -> None:
    rendered(harmless(text))


@AT_LEISURE
@given(
    st.lists(
        st.sampled_from(["alpha", "beta", "你好", "<div>", "</b>", "<!-- x -->", "[1]:", "a_b"]),
        min_size=1,
    )
)
def test_words_are_all_there(words: list[str]) -> None:
    shown = "".join("".join(rendered(" ".join(words) + "\n")).split())
    assert shown == "".join("".join(words).split())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# Title\n\ntext", ["Title", "", "text"]),
        ("one\ntwo", ["one", "two"]),
        ("- a\n- b\n\ntext", [" • a", " • b", "", "text"]),
        ("1. a\n2. b", [" 1 a", " 2 b"]),
        ("**bold** and `code`", ["bold and code"]),
        ("```python\nx = 1\n\ty = 2\n```", ["```python", "x = 1", "    y = 2", "```"]),
        ("```\nnever closed\n\nend", ["```", "never closed", "", "end", "```"]),
        ("see [here](http://evil.example)", ["see here (http://evil.example)"]),
        ("<script>alert(1)</script>", ["<script>alert(1)</script>"]),
        ("<think>\nhm\n</think>\nyes", ["<think>", "hm", "</think>", "yes"]),
        ("![alt](http://x)", ["!alt (http://x)"]),
        ("[a]: http://x", ["[a]: http://x"]),
        ("a &amp; b", ["a & b"]),
        ("2 * 3 * 4", ["2 * 3 * 4"]),
        ("", []),
        ("\n\n", []),
    ],
)
def test_what_it_looks_like(text: str, lines: list[str]) -> None:
    assert rendered(text) == lines


def test_a_table() -> None:
    lines = rendered("| a | b |\n|---|---|\n| 1 | 22 |\n")
    assert any("a" in line and "b" in line for line in lines)
    assert any("1" in line and "22" in line for line in lines)


def test_a_block_is_finished_when_another_one_has_begun() -> None:
    markdown = GrowingMarkdown()
    markdown.add("first\n\nseco")
    assert markdown.take_finished(40) == []  # what stands in an open line may still become part of a list
    markdown.add("nd\n")
    assert plain(markdown.take_finished(40)) == ["first"]
    assert plain(markdown.unfinished(40)) == ["", "second"]
    markdown.add("\n```\ncode\n\nmore\n")
    assert plain(markdown.take_finished(40)) == ["", "second"]
    assert plain(markdown.unfinished(40)) == ["", "```", "code", "", "more", "```"]


def test_a_list_goes_on_after_an_empty_line() -> None:
    markdown = GrowingMarkdown()
    markdown.add("1. a\n\n2")
    assert markdown.take_finished(40) == []
    markdown.add(". b")
    assert plain(markdown.take_all(40))[-1] == " 2 b"


def test_wide_characters_fold_by_their_width() -> None:
    assert rendered("你好" * 10, width=12) == ["你好你好你好"] * 3 + ["你好"]
