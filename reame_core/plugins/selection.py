"""Which plugins are used, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path  # noqa: TC003  (settings are converted by their types at run time)
from typing import TYPE_CHECKING

from reame_core.errors import PluginError
from reame_core.plugins.names import did_you_mean, listing, normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_core.plugins.discovery import Candidate


@dataclass(frozen=True, slots=True)
class PluginSelection:
    """The settings of the table ``[plugins]``.

    A plugin is named by its entry point (``diskkv``) or its distribution (``reame-diskkv``); case and the
    difference between ``-``, ``_`` and ``.`` do not matter.
    """

    disable: tuple[str, ...] = ()
    """Not even imported. Wins over ``only``."""
    only: tuple[str, ...] | None = None
    """None loads all that are found, an empty tuple none."""
    order: tuple[str, ...] = ()
    """Asked first, in this order; the others follow alphabetically."""
    strict: bool = False
    """A plugin that cannot be used is an error instead of being skipped."""
    folder: Path | None = None
    """A folder of one-file plugins."""


EVERYTHING = PluginSelection()
RESERVED_NAMES = frozenset(field.name for field in fields(PluginSelection))
"""A plugin of such a name could not have a table ``[plugins.NAME]``."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the settings say about one plugin."""

    candidate: Candidate
    refused: str = ""
    """Why it is not to be loaded; empty for a plugin that is."""


def choose(
    selection: PluginSelection, candidates: Sequence[Candidate], built_ins: Sequence[str] = ()
) -> list[Choice]:
    """Every candidate, in plugin order: the settings', then that of ``candidates``. PluginError for a name
    that is nobody's."""
    names = _Names(candidates, built_ins)
    disabled = {each for name in selection.disable for each in names.find(name, "disabled")}
    only = None if selection.only is None else {each for name in selection.only for each in names.find(name)}
    ranked = [each for name in selection.order for each in names.find(name, "reordered")]
    choices = []
    for each in dict.fromkeys([*ranked, *range(len(candidates))]):
        refused = ""
        if each in disabled:
            refused = "disabled by name"
        elif only is not None and each not in only:
            refused = "not among the plugins asked for"
        choices.append(Choice(candidates[each], refused))
    return choices


class _Names:
    """The candidates, as indexes, by every name that means them."""

    def __init__(self, candidates: Sequence[Candidate], built_ins: Sequence[str]) -> None:
        self._plugins: dict[str, list[int]] = {}
        self._distributions: dict[str, list[int]] = {}
        for index, candidate in enumerate(candidates):
            self._plugins.setdefault(normalise(candidate.name), []).append(index)
            if candidate.distribution:
                self._distributions.setdefault(normalise(candidate.distribution), []).append(index)
        self._built_ins = {normalise(name) for name in built_ins}
        self._listed = sorted({candidate.name for candidate in candidates})
        self._known = [*self._listed, *(each.distribution for each in candidates if each.distribution)]

    def find(self, name: str, forbidden: str = "") -> list[int]:
        """The candidates called ``name``. ``forbidden`` says what cannot be done to a built-in one."""
        key = normalise(name)
        if key in self._built_ins:
            if forbidden:
                raise PluginError(
                    f"plugin {name!r} is built in and cannot be {forbidden}: remove it from the list"
                )
            return []
        found = self._plugins.get(key) or self._distributions.get(key)
        if not found:
            raise unknown_plugin(name, self._listed, self._known)
        return found


def unknown_plugin(name: str, listed: Sequence[str], known: Sequence[str] = ()) -> PluginError:
    """The error for a name that no plugin has; ``known`` adds names worth suggesting."""
    return PluginError(
        f"no plugin is named {name!r}{did_you_mean(name, [*listed, *known])}"
        f" (installed plugins: {listing(listed)})"
    )
