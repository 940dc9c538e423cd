"""Which command is meant, and what the smaller ones say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reame_core.cli.chat.commands import COMMANDS, completions

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., Any]

PAGE = (Path(__file__).parents[3] / "docs" / "chat.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ("/rety", "there is no command /rety; did you mean /retry?"),
        ("/Zzz", "there is no command /Zzz; /help lists them"),
        ("/", "there is no command /; /help lists them"),
        ("/\x1b[2J", "there is no command /\\x1b[2J; /help lists them"),
        ("/clear all", "/clear takes nothing after it, but there is all"),
        ("/show histroy", "/show knows no histroy; did you mean /show history?"),
        ("/show zzz", "/show knows no zzz; there is settings, history, model"),
        ("/help zzz", "there is no command zzz; /help lists them"),
        ("/save a b", "after the name there can only be the word replace, not b"),
    ],
)
def test_what_is_not_understood(typed: str, error: str, bench: Make) -> None:
    ((kind, text),) = bench().talk(typed)
    assert (kind, text.partition(" (a message")[0]) == ("error", error)


def test_help_names_every_command_and_key(bench: Make) -> None:
    ((_, text),) = bench().talk("/help")
    for command in COMMANDS:
        assert command.usage in text
        assert bench().talk(f"/help {command.name}") == [("say", f"{command.usage}\n  {command.summary}")]
    assert bench().talk("/?") == [("say", text)]
    for key in ("Alt-Enter", "Ctrl-C", "Ctrl-D", '"""'):
        assert key in text
        assert key in PAGE


def test_the_page_names_every_command_and_setting(bench: Make) -> None:
    for command in COMMANDS:
        assert f"`{command.usage}`" in PAGE
    for name in bench().chat.options.known:
        assert f"`{name}`" in PAGE


def test_help_for_a_setting(bench: Make) -> None:
    made = bench()
    assert made.talk("/help top_p") == made.talk("/set top_p")


def test_what_was_said_and_the_model_are_shown(bench: Make) -> None:
    made = bench(replies={"hello": "hi"}, system="Be brief.")
    assert bench().talk("/show history") == [("say", "nothing has been said yet")]
    made.talk("hello")
    assert made.talk("/show history")[0][1] == "[system]\nBe brief.\n\n[user]\nhello\n\n[assistant]\nhi"
    shown = made.talk("/show model")[0][1]
    assert "fake" in shown
    assert "1 turn" in shown


def test_completion(bench: Make) -> None:
    chat = bench().chat
    assert completions(chat, []) == [f"/{command.name}" for command in COMMANDS]
    assert "temperature" in completions(chat, ["/set"])
    assert completions(chat, ["/show"]) == ["settings", "history", "model"]
    assert completions(chat, ["/load"]) == []
    assert completions(chat, ["/nothing"]) == completions(chat, ["/set", "temperature"]) == []
