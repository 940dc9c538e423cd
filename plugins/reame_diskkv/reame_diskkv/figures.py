"""``Counts`` as metrics."""

from __future__ import annotations

from reame_core.plugins.api import Metric, Sample
from reame_diskkv.counts import Counts

_COUNTERS = {
    "lookups": ("lookups", "Prompts that were looked up."),
    "hits": ("hits", "Prompts of which something was restored."),
    "wanted_tokens": ("wanted_tokens", "Prompt tokens that memory did not have."),
    "restored_tokens": ("restored_tokens", "Prompt tokens restored from disk."),
    "restored_bytes": ("restored_bytes", "Bytes of cells restored."),
    "restore_seconds": ("restore_seconds", "Time of the engine spent restoring."),
    "unprofitable": ("unprofitable", "Stored prompts that were computed because that was faster."),
    "exported_bytes": ("exported_bytes", "Bytes of cells handed to the writer."),
    "export_seconds": ("export_seconds", "Time of the engine spent exporting."),
    "dropped_blocks": ("dropped", "Blocks not stored because the writer was behind or paused."),
    "written_blocks": ("written_blocks", "Blocks written."),
    "written_bytes": ("written_bytes", "Bytes written in blocks."),
    "evicted_blocks": ("evicted", "Blocks removed to make room."),
    "expired_blocks": ("expired", "Blocks removed because of their age."),
    "too_large": ("too_large", "Blocks not stored because nothing could make room for them."),
    "far_lookups": ("far_lookups", "Prompts of which the far tier was asked for more."),
    "far_hits": ("far_hits", "Prompts of which the far tier had something worth fetching."),
    "far_blocks": ("far_blocks", "Blocks fetched from the far tier."),
    "far_bytes": ("far_bytes", "Bytes fetched from the far tier in blocks."),
    "far_unprofitable": ("far_unprofitable", "Prompts computed because that was faster than fetching."),
    "far_late": ("far_late", "Prompts computed because nothing came from the far tier in time."),
}


def metrics_of(counts: Counts, paused: bool) -> list[Metric]:
    """For Prometheus."""
    found = [
        Metric(name, description, "counter", [Sample(float(getattr(counts, field)))])
        for name, (field, description) in _COUNTERS.items()
    ]
    kinds = ("damaged", "refused", "read", "write", "index", "far")
    failures = [Sample(counts.failures[kind], {"kind": kind}) for kind in kinds]
    found.append(Metric("failures", "What went wrong, by kind.", "counter", failures))
    found.append(
        Metric("paused", "1 while nothing is stored after a failure.", "gauge", [Sample(float(paused))])
    )
    return found
