"""A short life of all plugins where no server runs: an engine on the fake model, in a folder that is thrown
away.

What they cost on it is what they cost in Python: the model costs nothing, and its texts are babble.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from reame_core.doctor.plugins.findings import Finding
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.calibration import measure_batches
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.request import Request, SamplingParams
from reame_core.errors import ConfigError
from reame_core.plugins.api import PluginContext, SecondModel
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection
from reame_core.server.plugin_conditions import conditions_of
from reame_core.server.plugin_help import PluginHelp
from reame_core.server.wire.plugins import PluginConditions
from reame_core.testing import FakeBackend, prompt_of, run

_FOLDER = "folder"
"""The option in which plugins are told where their files are, by custom."""
_URL = "url"
"""Likewise, where a store is that others use as well."""
_TEXT = "1. red, 2. blue, 3. red, 4. blue. " * 6
_CHOICES = 3


def probe(selection: PluginSelection, tables: Mapping[str, Mapping[str, object]]) -> PluginConditions:
    """Start the plugins with their ``tables`` of options, by their own names, answer a few requests before and
    after a restart, and look at them. Raises PluginError with ``strict``, for a plugin that cannot be used."""
    refused: dict[str, str] = {}
    with _own_home() as home:
        while True:
            plugins = PluginManager(selection, builtins=BUILT_IN_PLUGINS)
            unused = _failed(plugins)
            given = PluginHelp()
            try:
                for life in range(2):
                    _live(plugins, _thrown_away(tables, home), given, f"probe-{life + 1}")
            except ConfigError as error:
                # The others go on without the one whose options are wrong.
                [failed] = _failed(plugins) - unused
                refused[failed] = str(error)
                selection = replace(selection, disable=(*selection.disable, failed))
            else:
                return _with_refused(conditions_of(plugins, given), refused)


def _failed(plugins: PluginManager) -> set[str]:
    return {report.name for report in plugins.report() if report.state == "failed"}


def _with_refused(conditions: PluginConditions, refused: Mapping[str, str]) -> PluginConditions:
    for plugin in conditions.plugins:
        if plugin.name in refused:
            plugin.state, plugin.why = "failed", refused[plugin.name]
    return conditions


def _thrown_away(tables: Mapping[str, Mapping[str, object]], home: Path) -> dict[str, Mapping[str, object]]:
    """``tables`` with other folders, and without what is elsewhere."""
    return {
        name: {
            option: str(home / name) if option == _FOLDER else value
            for option, value in options.items()
            if option != _URL
        }
        for name, options in tables.items()
    }


def left_alone(tables: Mapping[str, Mapping[str, object]]) -> list[Finding]:
    """What a probe does not look at."""
    return [
        Finding("remark", name, f"plugins.{name}.{_URL} was left out: a probe calls nobody; --model does")
        for name, options in tables.items()
        if options.get(_URL)
    ]


def _live(
    plugins: PluginManager, tables: Mapping[str, Mapping[str, object]], given: PluginHelp, name: str
) -> None:
    backend = FakeBackend(cells=4096)
    plugins.startup(
        lambda plugin: PluginContext(
            backend.info,
            tables.get(plugin, {}),
            {"model": "the fake model of reame plugins doctor"},
            "fake",
            backend.piece,
            backend.tokenize,
            _open_fake_model,
        )
    )
    try:
        options = EngineOptions(context_length=1024, parallel=_CHOICES, price_drafts=False)
        engine = Engine(backend, options, plugins.engine_hooks())
        for number, request in enumerate(_requests(), start=1):
            answers = run(engine, request)[0]
            ended = [answer.finished for answer in answers if answer.finished is not None]
            given.answered(f"{name}-{number}", ended)
        plugins.hook("metrics").all()
    finally:
        plugins.shutdown()


def _requests() -> Iterator[Request]:
    greedy = Request(prompt=prompt_of(_TEXT), max_tokens=48, ignore_end=True)
    yield greedy
    yield replace(greedy, prompt=(*greedy.prompt, *prompt_of("and so on")[1:]))
    yield replace(greedy, sampling=SamplingParams(temperature=0.8), n=_CHOICES, select=True)


def _open_fake_model(model: str, **wishes: Any) -> SecondModel:
    backend, cost = FakeBackend(cells=4096, max_sequences=64), BatchCost()
    measure_batches(backend, cost)
    return SecondModel(backend, "fake", cost)


@contextmanager
def _own_home() -> Iterator[Path]:
    """Nothing of the user's is read or written meanwhile."""
    before = os.environ.get("REAME_HOME")
    with tempfile.TemporaryDirectory(prefix="reame-doctor-") as name:
        os.environ["REAME_HOME"] = name
        try:
            yield Path(name)
        finally:
            if before is None:
                del os.environ["REAME_HOME"]
            else:
                os.environ["REAME_HOME"] = before
