"""What has happened since the start."""

from __future__ import annotations

import threading
from collections import Counter

from reame_core.plugins.api import Metric, Sample


class Counts:
    """Counters by name and label. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, label: str = "", by: float = 1) -> None:
        with self._lock:
            self._counts[name, label] += by  # type: ignore[assignment]

    def get(self, name: str, label: str = "") -> float:
        with self._lock:
            return self._counts[name, label]

    def by_label(self, name: str) -> dict[str, float]:
        """All counts of ``name``."""
        with self._lock:
            return {label: count for (each, label), count in self._counts.items() if each == name}

    def metric(self, name: str, description: str, label: str, labels: tuple[str, ...]) -> Metric:
        """A counter with a sample for each of ``labels``, counted or not."""
        counted = self.by_label(name)
        return Metric(
            name,
            description,
            "counter",
            [Sample(counted.get(each, 0), {label: each}) for each in labels],
        )
