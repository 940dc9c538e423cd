"""Commands as the client sends them, large values without being copied: whoever copies megabytes keeps all
other threads of this process from going on meanwhile."""

from __future__ import annotations

from typing import Any

from redis.connection import PythonRespSerializer
from redis.utils import HIREDIS_AVAILABLE

_LARGE = 6000
"""Bytes of a value, as the client draws the line itself."""


class Packer:
    """For ``command_packer`` of a connection."""

    def __init__(self) -> None:
        self._large: Any = PythonRespSerializer(_LARGE, _encoded)
        self._small: Any = self._large
        if HIREDIS_AVAILABLE:
            from redis.connection import HiredisRespSerializer

            self._small = HiredisRespSerializer()

    def pack(self, *arguments: Any) -> list[bytes]:
        """One command, in parts to be sent one after the other."""
        large = any(isinstance(each, bytes) and len(each) > _LARGE for each in arguments)
        parts: list[bytes] = (self._large if large else self._small).pack(*arguments)
        return parts


def _encoded(argument: object) -> bytes:
    return argument if isinstance(argument, bytes) else str(argument).encode()
