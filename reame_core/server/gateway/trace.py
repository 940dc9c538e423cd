"""What is known of one HTTP request beside its body, for the log and for errors."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_core.server.gateway.asgi import Scope

_SOUND_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_IN_SCOPE = "reame.trace"


@dataclass(slots=True)
class Trace:
    """One for each request, made by the outermost layer. ``fields`` go into its line in the log."""

    id: str
    key_name: str = ""
    fields: dict[str, object] = field(default_factory=dict)


def begin_trace(scope: Scope) -> Trace:
    """A client's own ``x-request-id`` is kept where it is harmless."""
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    sound = _SOUND_ID.fullmatch(given)
    trace = Trace(given.decode() if sound else f"req_{uuid.uuid4().hex}")
    scope[_IN_SCOPE] = trace
    return trace


def trace_of(scope: Scope) -> Trace:
    trace = scope[_IN_SCOPE]
    assert isinstance(trace, Trace)
    return trace
