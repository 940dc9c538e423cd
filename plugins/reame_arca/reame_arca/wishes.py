"""What a request may say about sharing: the field ``reame.arca``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reame_core.errors import InvalidRequest
from reame_core.plugins.names import did_you_mean, listing

if TYPE_CHECKING:
    from reame_core.engine.request import Request

FIELD = "reame.arca"
NAME = "arca"
"""Of the plugin, and so of its part of ``Request.extra``."""
LAYERS = ("answers", "similar", "blocks", "generations")


def read_wishes(value: object) -> dict[str, bool]:
    """``value`` of the field, for ``Request.extra``. Raises InvalidRequest."""
    if isinstance(value, bool):
        return dict.fromkeys(LAYERS, value)
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{FIELD} must be true, false or an object", param=FIELD)
    for name, switch in value.items():
        if name not in LAYERS:
            guess = did_you_mean(str(name), LAYERS)
            raise InvalidRequest(
                f"{FIELD} has no field {name!r:.60}{guess} (there are: {listing(LAYERS)})", param=FIELD
            )
        if switch is not None and not isinstance(switch, bool):
            raise InvalidRequest(f"{FIELD}.{name} must be true or false", param=f"{FIELD}.{name}")
    return {name: switch for name, switch in value.items() if switch is not None}


def wants(request: Request, layer: str) -> bool:
    """Whether ``request`` may use and feed ``layer``; it may unless it says no."""
    wishes = request.extra.get(NAME)
    return not isinstance(wishes, Mapping) or wishes.get(layer, True) is not False
