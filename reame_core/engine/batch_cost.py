"""What a batch of k rows costs on this host, learned from the batches that ran."""

from __future__ import annotations

from bisect import bisect_left

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)
_WEIGHT = 0.3


class BatchCost:
    """Milliseconds by number of rows, a running mean at each of a few sizes.

    Where nothing was measured the estimate errs upwards, so that a chunk sized by it keeps its promise and
    grows with experience. Costs rise with the context; the running mean follows.
    """

    def __init__(self) -> None:
        self._mean: dict[int, float] = {}
        self.batches: dict[int, int] = {}
        """How many batches there were, by the next size of ``SIZES``."""
        self.rows = 0
        """Rows of all batches together."""
        self.milliseconds = 0.0

    def observe(self, rows: int, milliseconds: float) -> None:
        """A batch of ``rows`` took ``milliseconds``."""
        size = SIZES[min(bisect_left(SIZES, rows), len(SIZES) - 1)]
        self.batches[size] = self.batches.get(size, 0) + 1
        self.rows += rows
        self.milliseconds += milliseconds
        mean = self._mean.get(size)
        self._mean[size] = milliseconds if mean is None else mean + _WEIGHT * (milliseconds - mean)

    def estimate(self, rows: int) -> float | None:
        """Expected milliseconds of a batch of ``rows``, None before anything was measured."""
        if not self._mean:
            return None
        at_most = [mean for size, mean in self._mean.items() if size >= rows]
        # A larger batch is never cheaper, and k rows never cost more than k/j batches of j rows.
        smaller = [mean * rows / size for size, mean in self._mean.items() if size < rows]
        return min(at_most + smaller)

    def per_row(self) -> float:
        """Milliseconds of one row in the cheapest kind of batch that was measured; 0 before any was."""
        return min((mean / size for size, mean in self.measured().items()), default=0.0)

    def rows_within(self, milliseconds: float, most: int) -> int:
        """The largest batch, from 1 to ``most`` rows, expected to take at most ``milliseconds``."""
        best = 1
        for size in (*(size for size in SIZES if size < most), most):
            estimate = self.estimate(size)
            if estimate is None or estimate > milliseconds:
                break
            best = size
        return best

    def measured(self) -> dict[int, float]:
        """Milliseconds by rows, as measured so far."""
        return dict(sorted(self._mean.items()))
