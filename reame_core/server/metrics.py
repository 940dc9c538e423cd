"""What the server counts, for Prometheus. One registry a server, so that two in one process do not mix.

Everything here runs on the event loop; what the engine counts is read when it is asked for, by
``EngineCollector``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from reame_core.engine.events import Failed, Finished
from reame_core.server.history import History, Throughput

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640)
_TOKEN_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5)


class Metrics:
    """All counters and histograms, and the registry that also holds the collectors of others."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.history = History()
        self.throughput = Throughput()
        self._http = Counter(
            "reame_http_responses", "Responses by route and status.", ["route", "status"], registry=registry
        )
        self._answers = Counter(
            "reame_answers", "Choices that have ended, by how.", ["finish_reason"], registry=registry
        )
        self._refused = Counter(
            "reame_requests_refused",
            "Requests for generation that were not taken.",
            ["code"],
            registry=registry,
        )
        self._cut = Counter(
            "reame_requests_cut", "Requests ended before their time, by why.", ["code"], registry=registry
        )
        self._recalled = Counter(
            "reame_answers_recalled",
            "Choices that a plugin knew, so that nothing was computed.",
            ["plugin"],
            registry=registry,
        )
        self._prompt = Counter("reame_prompt_tokens", "Tokens of prompts.", registry=registry)
        self._sources = Counter(
            "reame_prompt_tokens_by_source",
            "Tokens of prompts by where their KV cells came from: computed, ram, or a plugin.",
            ["source"],
            registry=registry,
        )
        self._generated = Counter("reame_generation_tokens", "Tokens generated.", registry=registry)
        self._drafted = Counter(
            "reame_spec_decode_num_draft_tokens",
            "Tokens drafted and verified, by source.",
            ["source"],
            registry=registry,
        )
        self._accepted = Counter(
            "reame_spec_decode_num_accepted_tokens",
            "Drafted tokens that were right, by source.",
            ["source"],
            registry=registry,
        )
        self._avoided = Counter(
            "reame_work_avoided_seconds",
            "Reused prompt tokens times the measured cost of computing one.",
            registry=registry,
        )
        self._first = Histogram(
            "reame_time_to_first_token_seconds",
            "From submission to the first token of a choice.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._queued = Histogram(
            "reame_request_queue_time_seconds",
            "From submission to admission of a choice.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._between = Histogram(
            "reame_inter_token_latency_seconds",
            "Between two deliveries of a choice, shared among the tokens of the later one.",
            buckets=_TOKEN_SECONDS,
            registry=registry,
        )
        self._total = Histogram(
            "reame_e2e_request_latency_seconds",
            "From submission to the last token of a choice.",
            buckets=_SECONDS,
            registry=registry,
        )

    def add(self, collector: Collector) -> None:
        """Let ``collector`` be asked at each scrape."""
        self.registry.register(collector)

    def exposition(self) -> bytes:
        """The text format."""
        return generate_latest(self.registry)

    def http_response(self, route: str, status: int) -> None:
        """``route`` is a template of ours, empty where none matched: no label holds a user's text."""
        self._http.labels(route or "other", str(status or 499)).inc()

    def refused(self, code: str) -> None:
        """A request was not taken, for the reason ``code``."""
        self._refused.labels(code).inc()

    def cut(self, code: str) -> None:
        """A request was ended before its time, for the reason ``code``."""
        self._cut.labels(code).inc()

    def tokens_delivered(self, count: int, seconds: float) -> None:
        """``count`` tokens of a choice came ``seconds`` after those before them."""
        for _ in range(count):
            self._between.observe(seconds / count)

    def ended(self, event: Finished | Failed) -> None:
        """A choice has ended."""
        if isinstance(event, Failed):
            self._answers.labels("error").inc()
            return
        usage, timings = event.usage, event.timings
        self._answers.labels(event.reason).inc()
        if event.recalled is not None:
            self._recalled.labels(event.recalled.plugin).inc()
        else:
            self._generated.inc(usage.completion)
            self.history.totals.generated += usage.completion
        for source, (drafted, accepted) in usage.drafts.items():
            self._drafted.labels(source).inc(drafted)
            self._accepted.labels(source).inc(accepted)
            totals = self.history.totals
            totals.drafted[source] = totals.drafted.get(source, 0) + drafted
            totals.accepted[source] = totals.accepted.get(source, 0) + accepted
        self._queued.observe(timings.queued / 1000)
        if usage.completion:
            self._first.observe((timings.queued + timings.prefill) / 1000)
            self._total.observe((timings.queued + timings.prefill + timings.decode) / 1000)
        self.history.changed()

    def prompt(self, event: Finished, token_seconds: float) -> None:
        """Count the prompt that the choices of a request have in common, by the choice that computed most.
        ``token_seconds`` is what computing one token costs on this host."""
        usage = event.usage
        self._prompt.inc(usage.prompt)
        self._sources.labels("computed").inc(usage.computed)
        totals = self.history.totals
        totals.computed += usage.computed
        for source, count in usage.reused.items():
            self._sources.labels(source).inc(count)
            self._avoided.inc(count * token_seconds)
            totals.reused[source] = totals.reused.get(source, 0) + count
            totals.seconds_avoided += count * token_seconds
        self.history.changed()
