"""Fields of /tokenize and /detokenize that other servers have and this one has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reame_core.errors import InvalidRequest
from reame_core.server.generation.fields import log_ignored

if TYPE_CHECKING:
    from collections.abc import Mapping

_ADDS_BEGINNING = "add_special says whether the beginning token comes first"
_CHANGES_PROMPT: dict[str, tuple[tuple[object, ...], str]] = {
    "add_special_tokens": ((), _ADDS_BEGINNING),
    "add_bos": ((), _ADDS_BEGINNING),
    "return_token_strs": ((False,), "with_pieces gives the texts of the tokens"),
    "add_generation_prompt": ((True,), "the prompt of an answer is always begun"),
    "continue_final_message": ((False,), "the prompt of an answer is always begun"),
    "tools": (([],), "ask for a chat of one token instead: its usage counts the prompt"),
    "chat_template": ((), "the template is that of the model"),
    "chat_template_kwargs": (({},), "ask for a chat of one token instead: its usage counts the prompt"),
    "mm_processor_kwargs": (({},), "prompts are texts"),
}
"""Fields that change the tokens, with the values that change nothing here, and what to do."""
_HINTS = frozenset({"model"})
"""What clients send everywhere."""


def check_token_fields(left_over: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a field that asks for other tokens; unknown ones are ignored and logged."""
    for name, (harmless, remedy) in _CHANGES_PROMPT.items():
        if name in left_over and left_over[name] not in harmless:
            raise InvalidRequest(f"{name} is not supported here: {remedy}", param=name)
    log_ignored([name for name in left_over if name not in _CHANGES_PROMPT and name not in _HINTS])
