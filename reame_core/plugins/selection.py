"""Which plugins are used, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from reame_core.errors import PluginError
from reame_core.plugins.discovery import Candidate
from reame_core.plugins.names import did_you_mean, listing, normalise


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


DISABLED = "disabled by name"
"""Why a plugin is not loaded that was named in ``disable``."""
EVERYTHING = PluginSelection()
RESERVED_NAMES = frozenset(field.name for field in fields(PluginSelection))
"""A plugin of such a name could not have a table ``[plugins.NAME]``."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the settings say about one plugin."""

    candidate: Candidate
    refused: str = ""
    """Why it is not to be loaded; empty for a plugin that is."""


def choose(selection: PluginSelection, candidates: Sequence[Candidate], names: Names) -> list[Choice]:
    """Every candidate, in plugin order: the settings', then that of ``candidates``. PluginError for a name
    that is nobody's."""
    disabled = {each for name in selection.disable for each in names.find(name, "be disabled")}
    only = None if selection.only is None else {each for name in selection.only for each in names.find(name)}
    ranked = [each for name in selection.order for each in names.find(name, "be reordered")]
    choices = []
    for candidate in dict.fromkeys([*ranked, *candidates]):
        refused = ""
        if candidate in disabled:
            refused = DISABLED
        elif only is not None and candidate not in only:
            refused = "not among the plugins asked for"
        choices.append(Choice(candidate, refused))
    return choices


class Names:
    """The candidates by every name that means them."""

    def __init__(self, candidates: Sequence[Candidate], built_ins: Sequence[str] = ()) -> None:
        self._plugins: dict[str, list[Candidate]] = {}
        self._distributions: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            self._plugins.setdefault(normalise(candidate.name), []).append(candidate)
            if candidate.distribution:
                self._distributions.setdefault(normalise(candidate.distribution), []).append(candidate)
        self._built_ins = {normalise(name) for name in built_ins}
        self.plugins = tuple(sorted({candidate.name for candidate in candidates}))
        """The plugins' own names."""
        self._known = [*self.plugins, *(each.distribution for each in candidates if each.distribution)]

    def find(self, name: str, impossible: str = "") -> list[Candidate]:
        """The candidates called ``name``. PluginError where there is none; ``impossible`` says what makes no
        sense for a built-in plugin, which is otherwise found to be no candidate."""
        key = normalise(name)
        if key in self._built_ins:
            if impossible:
                raise PluginError(f"plugin {name!r} is built in, it cannot {impossible}")
            return []
        found = self._plugins.get(key) or self._distributions.get(key)
        if not found:
            raise PluginError(
                f"no plugin is named {name!r}{did_you_mean(name, self._known)}"
                f" (installed plugins: {listing(self.plugins)})"
            )
        return found
