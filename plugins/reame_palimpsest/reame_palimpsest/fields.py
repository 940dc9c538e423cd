"""What a request may say about the archive: the field ``reame.palimpsest``."""

from __future__ import annotations

from collections.abc import Mapping

from reame_core.errors import InvalidRequest

FIELD = "reame.palimpsest"
_SWITCHES = ("archive", "draft")


def read_wishes(value: object) -> dict[str, bool]:
    """``value`` of the field, for ``Request.extra``. Raises InvalidRequest."""
    if isinstance(value, bool):
        return dict.fromkeys(_SWITCHES, value)
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{FIELD} must be true, false or an object", param=FIELD)
    for name, switch in value.items():
        if name not in _SWITCHES:
            raise InvalidRequest(f"{FIELD} has no field {name!r:.60}; there are archive and draft", param=FIELD)
        if not isinstance(switch, bool):
            raise InvalidRequest(f"{FIELD}.{name} must be true or false", param=f"{FIELD}.{name}")
    return dict(value)
