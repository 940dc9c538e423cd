"""What the engine and the plugins count, read at each scrape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from reame_core.engine.batch_cost import SIZES

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

    from reame_core.plugins.api import Metric
    from reame_core.server.state import ServedModel

log = structlog.get_logger("reame.plugins")

_PREFIX = "reame_"


class EngineCollector(Collector):
    """Reads numbers that the engine thread writes: each is whole, together they may be a step apart."""

    def __init__(self, model: ServedModel) -> None:
        self._model = model

    def describe(self) -> list[Family]:
        """Nothing: it would be collected once at registration."""
        return []

    def collect(self) -> Iterator[Family]:
        engine = self._model.worker.engine
        info = GaugeMetricFamily("reame_model_info", "The model that is served.", labels=["model"])
        info.add_metric([self._model.info.name], 1)
        yield info
        yield _gauge("reame_num_requests_running", "Choices being computed.", len(engine.memory.active))
        yield _gauge("reame_num_requests_waiting", "Choices that wait for a slot.", engine.waiting)
        yield _gauge("reame_kv_cells", "Cells of KV memory.", engine.memory.ledger.capacity)
        yield _gauge("reame_kv_cells_used", "Cells that hold a token.", engine.memory.ledger.used)
        yield _gauge("reame_threads", "Threads that compute.", engine.threads.count)
        yield _gauge(
            "reame_busy_neighbour_cores", "Processors that other processes use.", engine.threads.neighbours
        )
        yield self._batch_rows()
        yield CounterMetricFamily(
            "reame_compute_seconds", "Time spent computing batches.", value=engine.cost.milliseconds / 1000
        )
        yield from self._speculation()
        yield self._plugin_errors()
        yield from self._hook_costs()
        for plugin, call in self._model.plugins.hook("metrics").calls:
            try:
                yield from [_of_plugin(plugin, metric) for metric in call() or ()]
            except Exception:
                log.exception("the metrics of a plugin cannot be shown", plugin=plugin)

    def _batch_rows(self) -> Family:
        cost = self._model.worker.engine.cost
        counts = dict(cost.batches)
        total = 0
        buckets = []
        for size in SIZES:
            total += counts.get(size, 0)
            buckets.append((str(float(size)), total))
        buckets.append(("+Inf", total))
        return HistogramMetricFamily(
            "reame_batch_rows", "Rows of the batches computed.", buckets=buckets, sum_value=cost.rows
        )

    def _speculation(self) -> Iterator[Family]:
        """What was decided about drafts, and at which prices."""
        engine = self._model.worker.engine
        drafts = CounterMetricFamily(
            "reame_spec_decode_num_drafts",
            "Drafts, by whether they promised enough for rows.",
            labels=["source", "rows"],
        )
        seconds = CounterMetricFamily(
            "reame_spec_decode_asking_seconds", "Time spent on asking for drafts.", labels=["source"]
        )
        for source, totals in dict(engine.records.totals).items():
            drafts.add_metric([source, "given"], totals.paid)
            drafts.add_metric([source, "none"], totals.unpaid)
            seconds.add_metric([source], totals.milliseconds / 1000)
        yield drafts
        yield seconds
        cost = GaugeMetricFamily(
            "reame_batch_cost_seconds", "What a batch of so many rows is expected to take.", labels=["rows"]
        )
        for rows, milliseconds in engine.cost.measured().items():
            cost.add_metric([f"{rows:.0f}"], milliseconds / 1000)
        yield cost

    def _hook_costs(self) -> Iterator[Family]:
        labels = ["plugin", "hook"]
        calls = CounterMetricFamily("reame_plugin_calls", "Calls of hooks.", labels=labels)
        seconds = CounterMetricFamily("reame_plugin_seconds", "Time spent in hooks.", labels=labels)
        for cost in self._model.plugins.hook_costs():
            calls.add_metric([cost.plugin, cost.hook], cost.calls)
            seconds.add_metric([cost.plugin, cost.hook], cost.seconds)
        yield calls
        yield seconds

    def _plugin_errors(self) -> Family:
        family = CounterMetricFamily("reame_plugin_errors", "Exceptions of plugins.", labels=["plugin", "hook"])
        for (plugin, hook), count in self._model.plugins.error_counts().items():
            family.add_metric([plugin, hook], count)
        return family


def _gauge(name: str, text: str, value: float) -> Family:
    return GaugeMetricFamily(name, text, value=value)


def _of_plugin(plugin: str, metric: Metric) -> Family:
    labels = sorted({label for sample in metric.samples for label in sample.labels})
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(f"{_PREFIX}{plugin.replace('-', '_')}_{metric.name}", metric.description, labels=labels)
    for sample in metric.samples:
        family.add_metric([str(sample.labels.get(label, "")) for label in labels], sample.value)
    return family
