"""What a batch costs on this host, learned from the batches that ran: so much for its rows, so much for what
they attend to, and so much less where rows want no logits."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from reame_core.engine.attention import NOTHING, TILE, Attended, PairPrice
from reame_core.engine.logits_price import LogitsPrice

SIZES = (
    *(1, 2, 3, 4, 6, 7, 8, 11, 12, 15, 16, 23, 24, 31, 32, 47, 48, TILE - 1, TILE, 95, 96, 127, 128),
    *(192, 256, 384, 512, 768, 1024, 2048, 4096),
)
"""Kernels work in blocks, and a whole block may cost less than one with rows missing: so those have a size of
their own."""
_WEIGHT = 0.3
_FEW = 3
_CLEARLY_LESS, _MUCH_LESS = 0.96, 0.9
"""Times the cost of a batch that one of up to ``_FEW`` more rows, or of even more, may have to be better."""
_USERS_WEIGHT = 0.1
_LEAST_FACTOR, _MOST_FACTOR = 0.5, 2.0
_LEAST_BASE = 0.1
"""Of what batches took, the least that is put down to their rows, whatever attention should have cost."""
_LARGEST_SURPRISE = 1.0
"""Times what batches of a size took, the most that one of them may teach: more is a disturbance."""


class _Mean(NamedTuple):
    """Of the batches of one size."""

    rows: float
    milliseconds: float
    pairs: float = 0.0
    """See ``Attended``."""

    def moved(self, rows: float, milliseconds: float, pairs: float) -> _Mean:
        return _Mean(
            self.rows + _WEIGHT * (rows - self.rows),
            self.milliseconds + _WEIGHT * (milliseconds - self.milliseconds),
            self.pairs + _WEIGHT * (pairs - self.pairs),
        )


class BatchCost:
    """Milliseconds by number of rows behind an empty memory, all with logits, and by pairs of row and cell
    (``Attended``).

    The first is a running mean for each of a few sizes, without what attention took; the second is learned from
    how batches of one size differ, for batches of fewer rows than ``TILE`` and of more apart. Where nothing was
    measured the estimate of rows errs upwards, so that a chunk sized by it keeps its promise and grows with
    experience; attention is free until something is known, and then the running means follow the context.

    How much less a batch takes where some of its rows are ``silent``, for they want no logits, is not learned
    but told (``remember``), and until then nothing; see ``LogitsPrice``.
    """

    def __init__(self) -> None:
        self._means: dict[int, _Mean] = {}
        """By the next size of ``SIZES``."""
        self._bases: dict[int, tuple[float, float, int]] = {}
        """(rows, milliseconds without attention, size) of each mean, as it is asked for again and again."""
        self._prices = PairPrice(), PairPrice()
        """Of batches of fewer rows than ``TILE``, and of others."""
        self._logits = LogitsPrice()
        self._context = 0.0
        """Cells that a row attended to lately."""
        self.batches: dict[int, int] = {}
        """How many batches there were, by the next size of ``SIZES``."""
        self.rows = 0
        """Rows of all batches together."""
        self.milliseconds = 0.0
        self._factors: dict[int, float] = {}
        """Times the usual cost that batches for so many users take."""

    def observe(
        self, rows: int, milliseconds: float, users: int = 0, attended: Attended = NOTHING, silent: int = 0
    ) -> None:
        """A batch of ``rows``, so many of them ``silent``, took ``milliseconds``; ``users`` had rows in it,
        where that is known."""
        expected = self.estimate(rows, attended=attended, silent=silent)
        if users and expected:
            factor = min(_MOST_FACTOR, max(_LEAST_FACTOR, milliseconds / expected))
            before = self._factors.get(users, 1.0)
            self._factors[users] = before + _USERS_WEIGHT * (factor - before)
        size = _size(rows)
        self.batches[size] = self.batches.get(size, 0) + 1
        self.rows += rows
        self.milliseconds += milliseconds
        self._context += _WEIGHT * (attended.by_row / rows - self._context)
        pairs = attended.pairs(rows)
        milliseconds += self._logits.saved(rows, silent)
        mean = self._means.get(size, _Mean(rows, milliseconds, pairs))
        learned = self._learn_attention(mean, rows, milliseconds, pairs)
        self._means[size] = mean.moved(rows, milliseconds, pairs)
        self._take_attention_off(self._means if learned else (size,))

    def _learn_attention(self, mean: _Mean, rows: int, milliseconds: float, pairs: float) -> bool:
        # Row by row: more rows attend to more and take longer for that reason alone.
        more = rows * (pairs / rows - mean.pairs / mean.rows)
        usual = mean.milliseconds * rows / mean.rows
        awaited = more * self._pair_ms(rows)
        most = _LARGEST_SURPRISE * usual
        surprise = max(-most, min(most, milliseconds - usual - awaited))
        return self._prices[rows >= TILE].observe(more, awaited + surprise)

    def estimate(
        self, rows: int, users: int = 0, attended: Attended | None = None, silent: int = 0
    ) -> float | None:
        """Expected milliseconds of a batch of ``rows`` for so many ``users``, or for the usual number of them,
        that attend to ``attended``, or each to as much as rows did lately, and of which so many are ``silent``;
        None before anything was measured."""
        # A larger batch is never cheaper, and k rows never cost more than as many batches of j rows as hold
        # them. Whole batches, for kernels work in blocks: a row more than a block can cost another block.
        costs = [
            base * max(1.0, min(rows, size) / measured) * -(-rows // size)
            for measured, base, size in self._bases.values()
        ]
        if not costs:
            return None
        pairs = rows * self._context if attended is None else attended.pairs(rows)
        return (self._quieter(min(costs), rows, silent) + self._pair_ms(rows) * pairs) * self._factors.get(
            users, 1.0
        )

    def _quieter(self, base: float, rows: float, silent: float) -> float:
        """``base``, milliseconds of ``rows`` that all want logits, without those for ``silent`` of them."""
        return max(base - self._logits.saved(rows, silent), _LEAST_BASE * base) if silent > 0 else base

    def _pair_ms(self, rows: float) -> float:
        return self._prices[rows >= TILE].milliseconds

    def _take_attention_off(self, sizes: Iterable[int]) -> None:
        for size in sizes:
            rows, milliseconds, pairs = self._means[size]
            base = max(milliseconds - self._pair_ms(rows) * pairs, _LEAST_BASE * milliseconds)
            self._bases[size] = rows, base, size

    def cheaper_size(self, rows: int, most: int, attended: Attended = NOTHING, silent: int = 0) -> int:
        """A measured number of rows, up to ``most``, whose batch clearly takes less time than one of ``rows``,
        some of them ``silent``, although the others attend to nothing and are silent; ``rows`` itself where
        there is none."""
        between = self.between(rows, silent)
        if between is None:
            return rows
        few = self._pair_ms(1) * attended.by_row
        many = self._pair_ms(TILE) * attended.by_tile
        here = between + (few if rows < TILE else many)
        best, least = rows, here
        for measured, base, _ in self._bases.values():
            if rows < measured <= most and measured == int(measured):
                there = self._quieter(base, measured, silent + measured - rows)
                there += few if measured < TILE else many
                limit = _CLEARLY_LESS if measured - rows <= _FEW else _MUCH_LESS
                if there < least and there < limit * here:
                    best, least = int(measured), there
        return best

    def between(self, rows: int, silent: int = 0) -> float | None:
        """Milliseconds of ``rows``, some of them ``silent``, attention apart, as measured or on a straight line
        between the sizes below and above, or in proportion to the largest: where kernels work in blocks they
        take more, so nothing is padded on a guess. None where nothing was measured below."""
        base = self._line(rows)
        return None if base is None else self._quieter(base, rows, silent)

    def _line(self, rows: int) -> float | None:
        measured, base, _ = self._bases.get(_size(rows), (0.0, 0.0, 0))
        if measured == rows:
            return base
        points = self._bases.values()
        below = max((point for point in points if point[0] <= rows), default=None)
        if below is None:
            return None
        left, low, _ = below
        above = min((point for point in points if point[0] > rows), default=None)
        if above is None:
            return low * rows / left
        right, high, _ = above
        return low + (rows - left) / (right - left) * max(0.0, high - low)

    def per_row(self, context: float = 0.0) -> float:
        """Milliseconds of one silent row behind ``context`` cells in the cheapest kind of batch that was
        measured; 0 before any was."""
        each = (
            self._quieter(base, rows, rows) / rows + self._pair_ms(rows) * context
            for rows, base, _ in self._bases.values()
        )
        return min(each, default=0.0)

    def rows_within(
        self,
        milliseconds: float,
        most: int,
        context: float | None = None,
        beside: Attended = NOTHING,
        outputs: int | None = None,
    ) -> int:
        """The largest batch, from 1 to ``most`` rows, expected to take at most ``milliseconds``, where each row
        attends to ``context`` cells, or to as many as lately, and some to what is ``beside`` as well. Only
        ``outputs`` of them want logits, or all.

        Where no batch of about twice as many rows ever ran, that many: it takes twice the time at most, and
        tells whether the estimate was too high.
        """
        behind = self._context if context is None else context
        best, proven = 1, 0
        kernels = ((1, min(TILE - 1, most)), (TILE, most))
        for low, high in kernels[: 1 + (most >= TILE)]:
            price = self._pair_ms(low)
            spare = milliseconds - price * beside.pairs(low)
            each = price * behind
            for rows, loud, _ in self._bases.values():
                base = loud if outputs is None else self._quieter(loud, rows, rows - outputs)
                if base > spare:
                    continue
                fitting = rows * spare / max(base + rows * each, 1e-9)
                if fitting < rows:  # fewer rows are no cheaper, only what they attend to is
                    fitting = (spare - base) / each
                elif (rows < TILE) == (low < TILE):
                    proven = max(proven, int(rows))
                fits = min(int(fitting + 1e-6), high)
                best = max(best, fits) if fits >= low else best
        if proven and not any(proven < int(rows) < 3 * proven for rows, _, _ in self._bases.values()):
            best = max(best, 2 * proven)
        return min(best, most)

    def remember(
        self,
        measured: Mapping[float, float],
        attention: Sequence[float] = (),
        logits: Mapping[float, float] | None = None,
    ) -> None:
        """Start from what an earlier engine ``measured`` on this host, and from its prices of ``attention`` and
        of ``logits``."""
        for rows, milliseconds in measured.items():
            if 1 <= rows <= SIZES[-1] and 0 < milliseconds < math.inf:
                self._means[_size(rows)] = _Mean(rows, milliseconds)
        for price, pair_ms in zip(self._prices, attention, strict=False):
            if 0 < pair_ms < math.inf:
                price.tell(pair_ms)
        if logits is not None:
            self._logits = LogitsPrice(logits)
        self._take_attention_off(self._means)

    def copy(self) -> BatchCost:
        """The same expectations, with nothing counted."""
        twin = BatchCost()
        twin.adopt(self)
        return twin

    def adopt(self, other: BatchCost) -> None:
        """Expect what ``other`` expects, and nothing else."""
        self._means = dict(other._means)
        few, many = other._prices
        self._prices = few.copy(), many.copy()
        self._logits = other._logits
        self._bases = dict(other._bases)

    def measured(self) -> dict[float, float]:
        """Milliseconds by rows that attend to nothing but each other, all with logits, as measured so far."""
        return dict(sorted((rows, base) for rows, base, _ in self._bases.values()))

    @property
    def attention(self) -> tuple[float, float]:
        """Milliseconds of a pair of row and cell in batches of fewer rows than ``TILE``, and in others."""
        few, many = self._prices
        return few.milliseconds, many.milliseconds

    @property
    def logits(self) -> dict[float, float]:
        """Milliseconds for the logits of so many rows beyond those for one."""
        return self._logits.measured


def _size(rows: float) -> int:
    return SIZES[min(bisect_left(SIZES, rows), len(SIZES) - 1)]
