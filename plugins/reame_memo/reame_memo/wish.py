"""What a request may say: the field ``reame.memo``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.errors import InvalidRequest

if TYPE_CHECKING:
    from reame_core.engine.request import Request

FIELD = "reame.memo"
NAME = "memo"
"""Of the plugin, and so of its part of ``Request.extra``."""


def read_wish(value: object) -> bool:
    """``value`` of the field, for ``Request.extra``. Raises InvalidRequest."""
    if not isinstance(value, bool):
        raise InvalidRequest(f"{FIELD} must be true or false", param=FIELD)
    return value


def wants(request: Request) -> bool:
    """Whether the answer may be one that is known, and be kept; it may unless the request says no."""
    return request.extra.get(NAME) is not False
