"""What a batch of k rows costs on this host, learned from the batches that ran."""

from __future__ import annotations

from bisect import bisect_left

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)
_WEIGHT = 0.3
_CLEARLY_LESS = 0.96
_USERS_WEIGHT = 0.1
_LEAST_FACTOR, _MOST_FACTOR = 0.5, 2.0


class BatchCost:
    """Milliseconds by number of rows: a running mean of both for each of a few sizes.

    Where nothing was measured the estimate errs upwards, so that a chunk sized by it keeps its promise and
    grows with experience. Costs rise with the context; the running mean follows.
    """

    def __init__(self) -> None:
        self._points: dict[int, tuple[float, float]] = {}
        """(rows, milliseconds) by the next size of ``SIZES``."""
        self.batches: dict[int, int] = {}
        """How many batches there were, by the next size of ``SIZES``."""
        self.rows = 0
        """Rows of all batches together."""
        self.milliseconds = 0.0
        self._factors: dict[int, float] = {}
        """Times the usual cost that batches for so many users take: each attends to a context of its own."""

    def observe(self, rows: int, milliseconds: float, users: int = 0) -> None:
        """A batch of ``rows`` took ``milliseconds``; ``users`` had rows in it, where that is known."""
        expected = self.estimate(rows)
        if users and expected:
            factor = min(_MOST_FACTOR, max(_LEAST_FACTOR, milliseconds / expected))
            before = self._factors.get(users, 1.0)
            self._factors[users] = before + _USERS_WEIGHT * (factor - before)
        size = SIZES[min(bisect_left(SIZES, rows), len(SIZES) - 1)]
        self.batches[size] = self.batches.get(size, 0) + 1
        self.rows += rows
        self.milliseconds += milliseconds
        mean_rows, mean = self._points.get(size, (rows, milliseconds))
        self._points[size] = mean_rows + _WEIGHT * (rows - mean_rows), mean + _WEIGHT * (milliseconds - mean)

    def estimate(self, rows: int, users: int = 0) -> float | None:
        """Expected milliseconds of a batch of ``rows`` for so many ``users``, or for the usual number of them;
        None before anything was measured."""
        # A larger batch is never cheaper, and k rows never cost more than as many batches of j rows as hold
        # them. Whole batches, for kernels work in blocks: a row more than a block can cost another block.
        costs = [
            mean * max(1.0, min(rows, size) / measured) * -(-rows // size)
            for size, (measured, mean) in self._points.items()
        ]
        return min(costs) * self._factors.get(users, 1.0) if costs else None

    def cheaper_size(self, rows: int, most: int) -> int:
        """A measured number of rows, up to ``most``, whose batch clearly takes less time than one of ``rows``;
        ``rows`` itself where there is none or it was not measured."""
        here = [mean for measured, mean in self._points.values() if measured == rows]
        above = [(mean, int(m)) for m, mean in self._points.values() if rows < m <= most and m == int(m)]
        if not here or not above:
            return rows
        cheapest, size = min(above)
        return size if cheapest < _CLEARLY_LESS * here[0] else rows

    def per_row(self) -> float:
        """Milliseconds of one row in the cheapest kind of batch that was measured; 0 before any was."""
        return min((mean / rows for rows, mean in self.measured().items()), default=0.0)

    def rows_within(self, milliseconds: float, most: int) -> int:
        """The largest batch, from 1 to ``most`` rows, expected to take at most ``milliseconds``.

        Where no batch of about twice as many rows ever ran, that many: it takes twice the time at most, and
        tells whether the estimate was too high.
        """
        points = [(rows, mean) for rows, mean in self._points.values() if mean <= milliseconds]
        if not points:
            return 1
        best = max(int(rows * milliseconds / max(mean, 1e-9) + 1e-6) for rows, mean in points)
        proven = max(int(rows) for rows, _ in points)
        if not any(proven < int(rows) < 3 * proven for rows, _ in self._points.values()):
            best = max(best, 2 * proven)
        return min(best, most)

    def remember(self, measured: dict[float, float]) -> None:
        """Start from what an earlier engine ``measured`` on this host."""
        for rows, milliseconds in measured.items():
            if 1 <= rows <= SIZES[-1] and milliseconds > 0:
                size = SIZES[min(bisect_left(SIZES, rows), len(SIZES) - 1)]
                self._points[size] = (rows, milliseconds)

    def copy(self) -> BatchCost:
        """The same expectations, with nothing counted."""
        twin = BatchCost()
        twin.adopt(self)
        return twin

    def adopt(self, other: BatchCost) -> None:
        """Expect what ``other`` expects, and nothing else."""
        self._points = dict(other._points)

    def measured(self) -> dict[float, float]:
        """Milliseconds by rows, as measured so far."""
        return dict(sorted(self._points.values()))
