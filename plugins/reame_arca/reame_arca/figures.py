"""The store in ``/metrics``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.plugins.api import Metric, Sample

if TYPE_CHECKING:
    from reame_arca.store import Store


def store_metrics(store: Store) -> list[Metric]:
    """How it is, and what went wrong."""
    counts = store.counts
    return [
        Metric("store_available", "Whether the store is asked.", "gauge", [Sample(float(store.available))]),
        Metric("store_opened", "Times that the breaker opened.", "counter", [Sample(store.breaker.opened)]),
        counts.metric("errors", "Questions that went wrong.", "kind", ("failed", "refused")),
        counts.metric(
            "writes", "Values by what became of them.", "outcome", ("done", "failed", "dropped", "not tried")
        ),
    ]
