"""What a chat's user has said last, apart from the rest of the prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reame_core.errors import InvalidRequest
from reame_core.models.messages import normalise
from reame_core.plugins.api import LastMessage

_IN_ITS_PLACE = "?"


def last_message(
    messages: Sequence[Mapping[str, object]],
    prompt_of: Callable[[Sequence[Mapping[str, object]]], tuple[int, ...]],
) -> LastMessage | None:
    """See ``Question.last_message``. ``prompt_of`` is what has made the prompt of ``messages``: what
    goes into one, a date that the template writes or the tools it shows, is in the rest as well."""
    *before, last = normalise(messages)
    if last["role"] != "user":
        return None
    try:
        rest = prompt_of([*before, {**last, "content": _IN_ITS_PLACE}])
    except InvalidRequest:  # a template may refuse anything
        return None
    return LastMessage(str(last["content"]), rest)
