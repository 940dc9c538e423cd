"""The messages of a chat, checked and brought to one form before a template sees them.

Afterwards every message has a ``role`` of ``TEMPLATE_ROLES`` and a ``content`` that is a string; keys whose
value was null are gone, tool calls have their arguments as objects. Whatever cannot be served is an
``InvalidRequest`` whose ``param`` names the very field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard, TypeVar, cast

from reame_core.errors import InvalidRequest
from reame_core.models.wording import alternatives, printable

Message = dict[str, object]
Json = TypeVar("Json")

ROLES = ("system", "developer", "user", "assistant", "tool")
TEMPLATE_ROLES = ("system", "user", "assistant", "tool")

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def normalise(messages: object) -> list[Message]:
    """Checked copies of ``messages``; nothing given is altered."""
    if not _is_list(messages):
        raise InvalidRequest("messages must be a list of messages", param="messages")
    if not messages:
        raise InvalidRequest("messages is empty: give at least one message", param="messages")
    return [_message(message, f"messages[{i}]") for i, message in enumerate(messages)]


def checked_texts(value: object, param: str) -> None:
    """Refuses texts with half characters (lone surrogates), which have no UTF-8 form, anywhere in ``value``."""

    def check(text: str) -> str:
        half = _HALF_CHARACTER.search(text)
        if half:
            raise InvalidRequest(
                f"{param} holds half a character (U+{ord(half.group()):04X}): send valid Unicode", param=param
            )
        return text

    try:
        map_texts(value, check, check)
    except RecursionError:
        raise InvalidRequest(f"{param} is nested too deeply", param=param) from None


def map_texts(value: Json, text: Callable[[str], str], key: Callable[[str], str]) -> Json:
    """``value`` with ``text`` applied to all strings in it and ``key`` to the keys of its mappings."""
    return cast("Json", _mapped(value, text, key))


def _mapped(value: object, text: Callable[[str], str], key: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {key(k) if isinstance(k, str) else k: _mapped(v, text, key) for k, v in value.items()}
    if _is_list(value):
        return [_mapped(item, text, key) for item in value]
    return value


def with_system_in_user_turns(messages: Sequence[Message]) -> list[Message]:
    """For templates without a system role: each system text is put before the text of the next user message,
    an empty line between them; after the last user message it becomes a user message of its own."""
    merged: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "system":
            waiting.append(str(message["content"]))
        elif message["role"] == "user" and waiting:
            merged.append(message | {"content": "\n\n".join([*waiting, str(message["content"])])})
            waiting = []
        else:
            merged.append(message)
    if waiting:
        merged.append({"role": "user", "content": "\n\n".join(waiting)})
    return merged


def with_parts(messages: Sequence[Message]) -> list[Message]:
    """For templates that read contents only as lists of parts."""
    return [message | {"content": [{"type": "text", "text": message["content"]}]} for message in messages]


def with_arguments_as_text(messages: Sequence[Message]) -> list[Message]:
    """For templates that print the arguments of tool calls as they are."""
    return [
        message | {"tool_calls": [_with_arguments(call, _as_json) for call in calls]}
        if isinstance(calls := message.get("tool_calls"), list)
        else message
        for message in messages
    ]


def _message(message: object, param: str) -> Message:
    if not isinstance(message, Mapping):
        raise InvalidRequest(f"{param} must be an object with role and content", param=param)
    role = message.get("role")
    if role not in ROLES:
        shown = "missing" if role is None else repr(role if isinstance(role, str) else type(role).__name__)
        raise InvalidRequest(
            f"{param}.role is {printable(shown)}; it can be {alternatives(list(ROLES))}", param=f"{param}.role"
        )
    kept = {str(key): value for key, value in message.items() if value is not None}
    kept["role"] = "system" if role == "developer" else role
    kept["content"] = _content(message.get("content"), f"{param}.content")
    if "tool_calls" in kept:
        kept["tool_calls"] = _tool_calls(kept["tool_calls"], f"{param}.tool_calls")
        if not kept["tool_calls"]:
            del kept["tool_calls"]
    # last, because the arguments of a tool call may hide an escaped half character
    checked_texts(kept, param)
    return kept


def _content(content: object, param: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not _is_list(content):
        raise InvalidRequest(f"{param} must be a text or a list of text parts", param=param)
    return "".join(_part(part, f"{param}[{i}]") for i, part in enumerate(content))


def _part(part: object, param: str) -> str:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or kind != "text":
        shown = (
            f"{param}.type is {printable(repr(kind))}" if isinstance(part, Mapping) else f"{param} is no object"
        )
        raise InvalidRequest(f"{shown}; this model reads only parts of type text", param=f"{param}.type")
    text = part.get("text")
    if not isinstance(text, str):
        raise InvalidRequest(f"{param}.text must be a text", param=f"{param}.text")
    return text


def _tool_calls(calls: object, param: str) -> list[object]:
    if not _is_list(calls):
        raise InvalidRequest(f"{param} must be a list", param=param)
    for i, call in enumerate(calls):
        if not isinstance(call, Mapping):
            raise InvalidRequest(f"{param}[{i}] must be an object", param=f"{param}[{i}]")
    return [_with_arguments(call, _as_object) for call in calls]


def _with_arguments(call: object, form: Callable[[object], object]) -> object:
    if not isinstance(call, Mapping):
        return call
    function = call.get("function")
    if not isinstance(function, Mapping) or "arguments" not in function:
        return call
    return {**call, "function": {**function, "arguments": form(function["arguments"])}}


def _as_object(arguments: object) -> object:
    # clients send JSON text, as the OpenAI API gives it; nearly all templates apply `tojson` themselves
    if not isinstance(arguments, str):
        return arguments
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return parsed if isinstance(parsed, dict) else arguments


def _as_json(arguments: object) -> object:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))
