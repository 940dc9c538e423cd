"""One sequence number of the backend and what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from reame_core.engine.cells import Cells
    from reame_core.engine.sequence import Sequence


class Slot:
    """The tokens that have cells under one sequence number. With a ``holder`` it is running, without one it is
    resident: it only remembers."""

    __slots__ = ("_cells", "holder", "index", "length", "tenant", "tokens", "used_at")

    def __init__(self, index: int) -> None:
        self.index = index
        self.empty()

    def empty(self) -> None:
        """Hold nothing."""
        self.length = 0
        self.tokens: NDArray[np.int32] = np.empty(0, np.int32)
        self._cells: Cells = np.empty(0, np.int32)
        self.tenant = ""
        self.holder: Sequence | None = None
        self.used_at = 0

    def start(self, holder: Sequence) -> None:
        """Begin to run for ``holder``; the cells held so far stay."""
        cells = np.empty(holder.limit, np.int32)
        cells[: self.length] = self.cells
        self._cells = cells
        self.tokens = holder.buffer
        self.tenant = holder.request.tenant
        self.holder = holder
        holder.slot = self

    def rest(self) -> None:
        """Stop running and keep no more than what is needed to remember."""
        self.holder = None
        self.tokens = self.held_tokens.copy()
        self._cells = self.cells.copy()

    def hold(self, cells: Cells) -> None:
        """Begin, empty, with ``cells``."""
        self._cells = cells.copy()
        self.length = len(cells)

    def append(self, cells: Cells) -> None:
        """Hold ``cells`` behind those held so far."""
        self._cells[self.length : self.length + len(cells)] = cells
        self.length += len(cells)

    @property
    def held_tokens(self) -> NDArray[np.int32]:
        """(length,) the tokens in memory; a view."""
        return self.tokens[: self.length]

    @property
    def cells(self) -> Cells:
        """(length,) where they lie, by position; a view."""
        return self._cells[: self.length]

    @property
    def top(self) -> int:
        """The highest cell held, -1 without any."""
        return int(self.cells.max()) if self.length else -1
