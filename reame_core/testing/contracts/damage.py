"""What happens to files: the ways to spoil a plugin's folder."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path, random.Random], None]
"""Spoils something in the folder."""


def flip_a_bit(folder: Path, chance: random.Random) -> None:
    """In some file of ``folder``."""
    if files := _files(folder):
        path = chance.choice(files)
        data = bytearray(path.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)


def truncate(folder: Path, chance: random.Random) -> None:
    """Some file of ``folder``."""
    if files := _files(folder):
        path = chance.choice(files)
        path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
