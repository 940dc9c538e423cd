"""Errors about names that do not exist, with the nearest one that does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.config.keys import all_keys, keys_of, section_names
from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable


def unknown_section(where: str, name: str) -> ConfigError:
    names = section_names()
    name = _printable(name)
    hint = _did_you_mean([f"[{close}]" for close in _nearest(name, names)])
    return ConfigError(f"{where}: unknown section [{name}]; {hint or 'the sections are ' + ', '.join(names)}")


def unknown_key(where: str, section: str, name: str) -> ConfigError:
    """``section`` is empty for a key outside of all sections."""
    name = _printable(name)
    written = f"{section}.{name}" if section else name
    candidates = [key.name for key in keys_of(section)]
    nearest = [f"{section}.{close}" for close in _nearest(name, candidates)]
    hint = _did_you_mean(nearest) or _did_you_mean(_elsewhere(name))
    if not hint and section == "plugins":
        hint = "a plugin's own settings go into a table [plugins.NAME]"
    if not hint and section:
        hint = f"[{section}] has {', '.join(candidates)}"
    return ConfigError(f"{where}: unknown setting {written}; {hint or 'settings belong into a section'}")


def unknown_variable(name: str) -> ConfigError:
    variables = [key.variable for key in all_keys().values()]
    hint = _did_you_mean(_nearest(name.upper(), variables)) or "`reame config` lists the settings"
    return ConfigError(f"{name}: unknown variable; {hint}")


def _elsewhere(name: str) -> list[str]:
    """Settings of (nearly) this name in any section."""
    short_names = {key.name for key in all_keys().values()}
    close = _nearest(name, short_names)
    return [key.full_name for key in all_keys().values() if key.name in close]


def _nearest(name: str, candidates: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    folded = {candidate.lower(): candidate for candidate in candidates}
    return [folded[close] for close in get_close_matches(name.lower(), folded, n=1, cutoff=0.7)]


def _printable(name: str) -> str:
    """A quoted name in TOML may hold line breaks, an error may not."""
    return name if name.isprintable() else repr(name)


def _did_you_mean(names: list[str]) -> str:
    return f"did you mean {' or '.join(names)}?" if names else ""
