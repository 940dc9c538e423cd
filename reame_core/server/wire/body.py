"""JSON in and out: one encoder for everything, and bodies that are objects or a clear error."""

from __future__ import annotations

from typing import Any

import msgspec

from reame_core.errors import InvalidRequest

encode = msgspec.json.Encoder().encode
"""Numbers that JSON cannot write, such as infinity, become null."""


def decode_object(body: bytes) -> dict[str, Any]:
    """The object that a request's body holds, whatever its content type says. Raises InvalidRequest."""
    if not body.strip():
        raise InvalidRequest("the body is empty, it must be a JSON object")
    try:
        document = msgspec.json.decode(body)
    except RecursionError:
        raise InvalidRequest("the body is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        raise InvalidRequest(f"the body is not valid JSON in UTF-8: {_reason(error)}") from None
    if not isinstance(document, dict):
        raise InvalidRequest("the body must be a JSON object")
    return document


def _reason(error: Exception) -> str:
    reason = str(error).removeprefix("JSON is malformed: ")
    return reason[:1].lower() + reason[1:]
