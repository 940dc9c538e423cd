"""A chat with a real model: what was said stays in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reame_core.cli.chat.chat import Chat
from reame_core.cli.chat.conversation import Conversation
from reame_core.cli.chat.held_log import HeldLog
from reame_core.cli.chat.options import ChatOptions
from reame_core.cli.chat.saved import SavedChats
from reame_core.config import load_settings
from reame_core.plugins.selection import PluginSelection

from .conftest import NotingDisplay, Script

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.model

QUESTIONS = ["Name a fish.", "And a bird?", "Which of them is larger?", "Thank you."]


def test_each_turn_computes_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reame_core.session import open_session

    monkeypatch.setenv("REAME_HOME", str(tmp_path))
    settings = load_settings(
        environment={
            "REAME_ENGINE__EXTRA_BUFFERS": "off",
            "REAME_MODEL__CONTEXT_LENGTH": "512",
            "REAME_SAMPLING__MAX_TOKENS": "24",
        }
    )
    display = NotingDisplay()
    with open_session(settings, "smollm2-135m", parallel=1, selection=PluginSelection(only=())) as session:
        options = ChatOptions(settings, seed=None, stop=())
        chat = Chat(session, Conversation("Be brief."), options, SavedChats(None), display)
        prompts = []
        for question in QUESTIONS:
            prompts.append(len(session.chat_tokens(chat.conversation.with_question(question))))
            chat.run(Script([question]), HeldLog([]))
    status = [text for text in display.of("remark") if "remembered" in text]
    remembered = [int(line.split("remembered ")[1].split(" of")[0]) for line in status]
    assert remembered[0] == 0
    for before, now in zip(prompts, remembered[1:], strict=False):
        assert now >= before  # at least the whole prompt before, and what the answer's text has in common
    assert chat.conversation.turns == len(QUESTIONS)
