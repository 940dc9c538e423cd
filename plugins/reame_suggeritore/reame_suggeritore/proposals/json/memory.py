"""What the JSON of one text, or of its prompt, has been like: keys, values, blanks."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from reame_suggeritore.proposals.page import Line

Path = tuple[str, ...]
"""Keys from the outside to the inside; ``ITEM`` stands for any place of an array."""
ITEM = "[]"
OPEN, COMMA, COLON, CLOSE = "open", "comma", "colon", "close"
_VALUES = 6


@dataclass(slots=True)
class Shape:
    """One object or array, and all others at the same path."""

    next_key: dict[str | None, str | None] = field(default_factory=dict)
    """The key after each key: None stands before the first and behind the last one."""
    counts: list[int] = field(default_factory=list)
    """Items of arrays that are complete."""


class Memory:
    """Later observations replace earlier ones. Without ``keeps_values`` scalars are not kept."""

    def __init__(self, *, keeps_values: bool = True) -> None:
        self.keeps_values = keeps_values
        self._shapes: dict[Path, Shape] = {}
        self._values: dict[Path, deque[Line]] = {}
        self._starts: dict[Path, str] = {}
        self._blanks: dict[tuple[str, Path], str] = {}
        self._unit: str | None = None
        self._multiline = False

    def shape(self, path: Path) -> Shape:
        """Of the container at ``path``."""
        return self._shapes.setdefault(path, Shape())

    def values(self, path: Path) -> list[Line]:
        """Scalars that stood at ``path``, strings without their quotes."""
        return list(self._values.get(path, ()))

    def start(self, path: Path) -> str | None:
        """The first character of the last value at ``path``."""
        return self._starts.get(path)

    def saw_start(self, path: Path, character: str) -> None:
        """A value at ``path`` begins."""
        self._starts[path] = character

    def saw_value(self, path: Path, value: Line) -> None:
        """A scalar at ``path`` is complete."""
        if self.keeps_values:
            self._values.setdefault(path, deque(maxlen=_VALUES)).append(value)

    def saw_blanks(self, where: str, path: Path, depth: int, blanks: str) -> None:
        """What stood at one seam of the container at ``path``, which is so deep."""
        if where == OPEN and self._blanks.get((where, path), blanks) != blanks:
            self._blanks.clear()  # written in another style than before
        self._blanks[where, path] = blanks
        if where == OPEN and depth:
            self._multiline = "\n" in blanks
            indent = blanks.rpartition("\n")[2]
            if self._multiline and indent and len(indent) % depth == 0:
                self._unit = indent[: len(indent) // depth]

    def blanks(self, where: str, path: Path, depth: int) -> str | None:
        """What is to be expected there; None where nobody knows."""
        known = self._blanks.get((where, path))
        if known is not None:
            return known
        if where == COLON:
            return next((b for (seam, _), b in reversed(self._blanks.items()) if seam == COLON), " ")
        if self._multiline:
            inner = depth if where != CLOSE else depth - 1
            return None if self._unit is None else "\n" + self._unit * inner
        if where == COMMA:
            return next((b for (seam, _), b in reversed(self._blanks.items()) if seam == COMMA), None)
        return "" if self._blanks else None
