"""One source of settings: what it says, value by value, each with its origin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from reame_core.plugins.names import normalise

OriginKind = Literal["default", "file", "environment", "flag"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an effective value comes from. ``detail`` is the file, the variable or the flag."""

    kind: OriginKind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.detail}" if self.detail else self.kind


DEFAULT = Origin("default")


@dataclass(slots=True)
class Layer:
    """Checked values of one source."""

    values: dict[str, tuple[object, Origin]] = field(default_factory=dict)
    """By full name, such as ``model.threads``."""
    plugin_values: dict[tuple[str, str], tuple[object, Origin]] = field(default_factory=dict)
    """Unchecked values of the plugins' own tables, by plugin and key."""
    plugin_names: list[str] = field(default_factory=list)
    """Plugins that have a table, be it empty."""

    def overrule(self, other: Layer) -> None:
        """Take over what ``other``, a higher layer, says. A variable cannot spell every plugin's name, so
        that it means the table of that name in any spelling."""
        spelt = {normalise(name): name for name in self.plugin_names}

        def known(name: str) -> str:
            return spelt.get(normalise(name), name)

        self.values.update(other.values)
        for (name, option), entry in other.plugin_values.items():
            self.plugin_values[known(name), option] = entry
        self.plugin_names += [known(name) for name in other.plugin_names]
