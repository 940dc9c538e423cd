"""A few answers of a real model, to see what plugins cost and save with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reame_core.engine.events import Failed, Finished
from reame_core.engine.request import Request
from reame_core.server.plugin_conditions import conditions_of
from reame_core.server.plugin_help import PluginHelp

if TYPE_CHECKING:
    from reame_core.config import Settings
    from reame_core.plugins.selection import PluginSelection
    from reame_core.server.wire.plugins import PluginConditions

_QUESTIONS = (
    "List ten fruits, one a line, each with its colour.",
    "List ten fruits, one a line, each with its colour.",
    "Write a JSON array of three objects with the fields name and colour.",
)
_TOKENS = 64


def rehearse(
    settings: Settings, model: str, selection: PluginSelection, progress: Callable[[str], None]
) -> PluginConditions:
    """Load ``model`` with its plugins as they are configured, have it answer, and look at them. Raises a
    UsageError for whatever the user can mend."""
    # Not at the top: it loads llama.cpp.
    from reame_core.session import open_session

    given = PluginHelp()
    with open_session(settings, model, progress=progress, selection=selection) as session:
        for number, question in enumerate(_QUESTIONS, start=1):
            progress(f"answering, {number} of {len(_QUESTIONS)}")
            prompt = session.chat_tokens([{"role": "user", "content": question}])
            with session.stream(Request(prompt=prompt, max_tokens=_TOKENS, stop=session.chat_stops)) as events:
                ended = []
                for event in events:
                    if isinstance(event, Failed):
                        raise event.error
                    if isinstance(event, Finished):
                        ended.append(event)
            given.answered(f"rehearsal-{number}", ended)
        session.plugins.hook("metrics").all()
        return conditions_of(session.plugins, given)
