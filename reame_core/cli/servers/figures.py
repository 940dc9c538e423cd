"""What a server has done, read from its ``/metrics``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


class Figures:
    """Samples by name, added up over the labels that are not asked for."""

    def __init__(self, text: str) -> None:
        """Raises ValueError for what is no exposition."""
        from prometheus_client.parser import text_string_to_metric_families

        families: Iterable[Metric] = text_string_to_metric_families(text)
        self._samples: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for family in families:
            for sample in family.samples:
                self._samples.setdefault(sample.name, []).append((sample.labels, sample.value))

    @property
    def model(self) -> str | None:
        """None while no model is loaded."""
        infos = self._samples.get("reame_model_info", [])
        return infos[0][0].get("model") if infos else None

    def total(self, name: str) -> float:
        return sum(value for _, value in self._samples.get(name, ()))

    def by(self, name: str, label: str) -> dict[str, float]:
        """Sums by the value of ``label``."""
        sums: dict[str, float] = {}
        for labels, value in self._samples.get(name, ()):
            key = labels.get(label, "")
            sums[key] = sums.get(key, 0) + value
        return sums

    def mean(self, name: str) -> float | None:
        """The mean of a histogram; None before its first observation."""
        count = self.total(f"{name}_count")
        return self.total(f"{name}_sum") / count if count else None


def summary(figures: Figures) -> dict[str, object]:
    """What ``reame stats --json`` prints: counts since the start of the server, times in seconds."""
    drafted = figures.by("reame_spec_decode_num_draft_tokens_total", "source")
    accepted = figures.by("reame_spec_decode_num_accepted_tokens_total", "source")
    return {
        "model": figures.model,
        "requests": {
            "running": int(figures.total("reame_num_requests_running")),
            "waiting": int(figures.total("reame_num_requests_waiting")),
            "answered": _whole(figures.by("reame_answers_total", "finish_reason")),
            "refused": _whole(figures.by("reame_requests_refused_total", "code")),
            "cut": _whole(figures.by("reame_requests_cut_total", "code")),
        },
        "prompt_tokens": _whole(figures.by("reame_prompt_tokens_by_source_total", "source")),
        "generated_tokens": int(figures.total("reame_generation_tokens_total")),
        "drafts": {
            source: {"drafted": int(count), "accepted": int(accepted.get(source, 0))}
            for source, count in drafted.items()
        },
        "seconds_avoided": round(figures.total("reame_work_avoided_seconds_total"), 3),
        "first_token_s": figures.mean("reame_time_to_first_token_seconds"),
        "between_tokens_s": figures.mean("reame_inter_token_latency_seconds"),
        "kv_cells": {
            "used": int(figures.total("reame_kv_cells_used")),
            "all": int(figures.total("reame_kv_cells")),
        },
        "plugin_errors": {
            plugin: count
            for plugin, count in _whole(figures.by("reame_plugin_errors_total", "plugin")).items()
            if count
        },
    }


def _whole(counts: Mapping[str, float]) -> dict[str, int]:
    return {key: int(count) for key, count in counts.items()}
