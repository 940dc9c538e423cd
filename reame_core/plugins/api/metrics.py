"""Metrics of plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a metric."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metric:
    """A counter or gauge for Prometheus, called ``reame_PLUGIN_NAME`` there (counters end in ``_total``)."""

    name: str
    description: str
    kind: Literal["counter", "gauge"]
    samples: Sequence[Sample]
    """With the same label names in all."""
