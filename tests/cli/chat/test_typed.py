"""Messages over several lines."""

from __future__ import annotations

import pytest

from reame_core.cli.chat.typed import argument, is_unfinished, message


@pytest.mark.parametrize(
    ("text", "unfinished"),
    [
        ("hello", False),
        ('"""', True),
        ('"""hello', True),
        ('"""hello\nyou"""', False),
        ('"""hello\nyou"""  \n', False),
        ('""""""', False),
        ('  """a', True),
        ('/set system """a', True),
        ('/set system """a\nb"""', False),
        ('what does """ mean', False),
        ('def f():\n    """doc', False),
    ],
)
def test_what_waits_for_more(text: str, unfinished: bool) -> None:
    assert is_unfinished(text) is unfinished


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\n", "hello"),
        ("    indented\n  code  \n", "    indented\n  code"),
        ('"""\n  a\nb\n"""\n', "  a\nb"),
        ('"""a"""', "a"),
        (" /etc", "/etc"),
        ('"quoted"', '"quoted"'),
        ('""', '""'),
        ('"""a', '"""a'),
    ],
)
def test_what_is_said(text: str, said: str) -> None:
    assert message(text) == said


def test_arguments() -> None:
    assert argument('  """ a\nb """ ') == " a\nb "
    assert argument("  a b ") == "a b"
