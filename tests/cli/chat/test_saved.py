"""Saved conversations: private, whole or not at all, and read with suspicion."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from reame_core.cli.chat.conversation import Conversation
from reame_core.cli.chat.saved import SavedChats
from reame_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Make = Callable[..., Any]

REPLIES = {"hello": "hi there", "more": "no end"}


def test_a_chat_goes_on_where_it_was_saved(bench: Make, tmp_path: Path) -> None:
    made = bench(replies=REPLIES, system="Be brief.")
    made.talk("hello", "/set top_k 5", "/set seed 3", "/save trip")
    path = tmp_path / "state" / "chats" / "trip.json"
    assert made.display.shown[-1] == ("remark", f"(saved to {path})")
    # In the form of a request to the API.
    assert json.loads(path.read_text()) == {
        "model": "fake",
        "temperature": 0.0,
        "top_k": 5,
        "top_p": 1.0,
        "min_p": 0.0,
        "repeat_penalty": 1.0,
        "seed": 3,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "hi there"},
        ],
    }
    other = bench(replies=REPLIES)
    assert other.talk("/load trip") == [("remark", "(loaded trip: 1 turn; /show history shows it)")]
    assert other.chat.conversation.everything() == made.chat.conversation.everything()
    assert other.talk("/set top_k") == made.talk("/set top_k")
    made.talk("more")
    other.talk("more")
    assert other.said() == made.said()
    # It has its name now.
    other.talk("/save")
    assert len(json.loads(path.read_text())["messages"]) == 5


def test_only_the_owner_can_read_it(bench: Make, tmp_path: Path) -> None:
    bench(replies=REPLIES).talk("hello", "/save private")
    folder = tmp_path / "state" / "chats"
    assert stat.S_IMODE((folder / "private.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [file.name for file in folder.iterdir()] == ["private.json"]


def test_another_chat_is_not_replaced_unasked(bench: Make) -> None:
    bench(replies=REPLIES).talk("hello", "/save one")
    made = bench(replies=REPLIES)
    made.talk("more")
    assert made.talk("/save one") == [
        ("error", "there is a chat one already: take another name, or /save one replace")
    ]
    made.talk("/save one replace")
    other = bench(replies=REPLIES)
    other.talk("/load one")
    assert other.said()[0] == ("user", "more")


def test_nothing_is_saved_without_a_name_or_without_words(bench: Make) -> None:
    made = bench(replies=REPLIES)
    assert made.talk("/save") == [("error", "the chat has no name yet: /save NAME")]
    assert made.talk("/save x") == [("error", "nothing to save: nothing has been said yet")]
    assert made.talk("/load") == [("say", "no chat is saved yet; /save NAME saves this one")]
    made.talk("hello", "/save b", "/save a")
    assert made.talk("/load") == [("say", "saved: a, b")]


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "/tmp/evil",
        "a/b",
        "..",
        ".hidden",
        "-rf",
        "a\\b",
        "a\0b",
        "a\nb",
        "é",
        "x" * 65,
        "~root",
        "a:b",
    ],
)
def test_names_that_are_no_names(name: str, tmp_path: Path) -> None:
    chats = SavedChats(tmp_path / "chats")
    conversation = Conversation()
    conversation.add("a", "b", partial=False)
    for action in (lambda: chats.load(name), lambda: chats.save(name, conversation, {})):
        with pytest.raises(UsageError, match="is no name for a chat"):
            action()
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name(bench: Make) -> None:
    made = bench(replies=REPLIES)
    assert made.talk("/load trip") == [("error", "there is no saved chat trip; none is saved yet")]
    made.talk("hello", "/save trip-to-rome")
    assert made.talk("/load trip-to-roma") == [
        ("error", "there is no saved chat trip-to-roma; did you mean trip-to-rome?")
    ]
    assert made.talk("/load zzz") == [("error", "there is no saved chat zzz; there is trip-to-rome")]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "is damaged: it holds no JSON"),
        (b"\xff\xfe", "is damaged: it holds no JSON"),
        (b"[" * 100_000, "is damaged: it holds no JSON"),
        (b"{}", "messages must be a list of messages"),
        (b"[]", "messages is empty: give at least one message"),
        (b'[{"role": "robot", "content": "x"}]', "messages[0].role is 'robot'; it can be"),
        (b'[{"role": "user", "content": 5}]', "messages[0].content must be a text"),
        (b'[{"role": "user", "content": "\\ud800"}]', "messages[0] holds half a character"),
        (
            b'{"messages": [{"role": "user", "content": "x"}], "temperature": "hot"}',
            "temperature must be a number",
        ),
        (b'{"messages": [{"role": "user", "content": "x"}], "top_k": -1}', "top_k must be a whole number"),
        (b'{"messages": [{"role": "user", "content": "x"}], "stop": [5]}', "stop must be a text or a list"),
    ],
)
def test_a_file_that_is_no_chat_changes_nothing(
    content: bytes, error: str, bench: Make, tmp_path: Path
) -> None:
    made = bench(replies=REPLIES)
    made.talk("hello")
    before = made.chat.conversation.everything()
    folder = tmp_path / "state" / "chats"
    folder.mkdir(parents=True)
    (folder / "bad.json").write_bytes(content)
    ((kind, text),) = made.talk("/load bad")
    assert kind == "error"
    assert error in text
    assert "\n" not in text
    assert made.chat.conversation.everything() == before


def test_conversations_of_other_programs(bench: Make, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "chats"
    folder.mkdir(parents=True)
    (folder / "theirs.json").write_text(
        json.dumps(
            {
                "model": "other",
                "stop": "END",
                "n": 3,
                "messages": [
                    {"role": "developer", "content": "Be kind."},
                    {"role": "user", "content": [{"type": "text", "text": "hello"}]},
                    {"role": "assistant", "content": "hi there", "partial": True},
                    {"role": "user", "content": "more"},
                ],
            }
        )
    )
    made = bench(replies=REPLIES)
    assert [text for _, text in made.talk("/load theirs")] == [
        "(loaded theirs: 1 turn; /show history shows it)",
        "(it was held with other)",
        "(its last message has no answer; /retry asks for one)",
    ]
    assert made.chat.options.get("stop") == ("END",)
    made.talk("/retry")
    assert made.said()[2:] == [("user", "more"), ("assistant", "no end")]
    assert made.chat.conversation.messages[1]["partial"] is True


def test_a_folder_that_cannot_be_written(bench: Make, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    made = bench(replies=REPLIES)
    ((kind, text),) = made.talk("hello", "/save x", "/set status off")[-2:-1]
    assert kind == "error"
    assert "chats cannot be written" in text or "x.json cannot be written" in text


def test_without_a_home(tmp_path: Path) -> None:
    chats = SavedChats(None)
    assert chats.names() == []
    with pytest.raises(UsageError, match="set HOME or REAME_HOME"):
        chats.load("x")
