"""Names that several plugins give to things of the user's: of two the first one is used."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import click

from reame_core.doctor.plugins.findings import Finding
from reame_core.errors import PluginError
from reame_core.plugins.api import RunOption

if TYPE_CHECKING:
    from reame_core.plugins.manager import PluginManager


def clashes(plugins: PluginManager, commands: Collection[str], run_options: Collection[str]) -> list[Finding]:
    """Of commands, options of ``reame run`` and models; the first two are Reame's own as well."""
    return [
        *_hidden("the command reame", _commands(plugins), dict.fromkeys(commands, "Reame itself")),
        *_hidden("the option", _run_options(plugins), dict.fromkeys(run_options, "Reame itself")),
        *_hidden("the model", _models(plugins), {}),
    ]


def owned_tables(
    plugins: PluginManager, tables: Mapping[str, Mapping[str, object]]
) -> tuple[dict[str, Mapping[str, object]], list[Finding]]:
    """The tables ``[plugins.NAME]`` by the plugins' own names, and those that nobody reads."""
    owned: dict[str, Mapping[str, object]] = {}
    found = []
    for table, options in tables.items():
        try:
            [owner] = plugins.check_tables([table]).values()
        except PluginError as error:
            found.append(Finding("problem", "", f"[plugins.{table}] is read by nobody: {error}"))
            continue
        if owner in owned:
            found.append(Finding("problem", owner, f"[plugins.{table}] is its second table of options"))
        else:
            owned[owner] = options
    return owned, found


def _hidden(what: str, named: Iterator[tuple[str, str]], taken: dict[str, str]) -> Iterator[Finding]:
    for plugin, name in named:
        if (owner := taken.setdefault(name, plugin)) != plugin:
            yield Finding("problem", plugin, f"{what} {name} is not used: {owner} has one of that name")


def _commands(plugins: PluginManager) -> Iterator[tuple[str, str]]:
    for plugin, call in plugins.hook("register_commands").calls:
        call(collected := click.Group())
        yield from ((plugin, name) for name in collected.commands)


def _run_options(plugins: PluginManager) -> Iterator[tuple[str, str]]:
    for plugin, answer in plugins.hook("run_options").answers():
        yield from ((plugin, each.option) for each in answer if isinstance(each, RunOption))


def _models(plugins: PluginManager) -> Iterator[tuple[str, str]]:
    for plugin, answer in plugins.hook("register_models").answers():
        if isinstance(answer, dict):
            yield from ((plugin, str(name)) for name in answer)
