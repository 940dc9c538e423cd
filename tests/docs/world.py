"""What the pages talk of, without a model file: a server with every plugin, and sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx

from plugins.reame_draftmodel.tests.support import Mumbling, second_model
from reame_core.config import Settings, load_settings
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.worker import EngineWorker
from reame_core.models.catalogue import Catalogue, Entry
from reame_core.models.chat_template import ChatTemplate
from reame_core.plugins.api import PluginContext, SecondModel
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import EVERYTHING, PluginSelection
from reame_core.session import Session
from reame_core.testing import FakeBackend
from reame_core.testing import fake_vocabulary as vocabulary
from reame_core.testing.serving import PATIENCE, FakeModel, listening

_CELLS = 16384
_CONTEXT = 4096
_FILL_IN_MIDDLE = (vocabulary.TURN_START, vocabulary.EOS, vocabulary.TURN_END)
"""Any three tokens that no text has."""
_REPLIES = {
    "Rossi srl, invoice RF-117, 180.68 EUR": '{"vendor": "Rossi srl", "number": "RF-117", "total": 180.68}',
}
"""What the model says to questions of the pages; to others it babbles."""


def backend() -> FakeBackend:
    """One that fills in the middle, too."""
    made = FakeBackend(cells=_CELLS, max_sequences=40, end_bias=2.0, replies=_REPLIES)
    made._info = replace(made.info, fill_in_middle=_FILL_IN_MIDDLE)
    return made


def plugins(
    model: FakeBackend, tables: Mapping[str, Mapping[str, object]], selection: PluginSelection
) -> PluginManager:
    """Every plugin that is installed, started."""
    manager = PluginManager(replace(selection, strict=True), builtins=BUILT_IN_PLUGINS)
    owners = {owner: table for table, owner in manager.check_tables(tables).items()}

    def context_for(plugin: str) -> PluginContext:
        return PluginContext(
            model.info,
            tables.get(owners.get(plugin, ""), {}),
            {"model": "fake"},
            "fake",
            model.piece,
            model.tokenize,
            _second_model,  # type: ignore[arg-type]
        )

    manager.startup(context_for)
    return manager


def _second_model(model: str, **wishes: object) -> SecondModel:
    return second_model(Mumbling(5, cells=1024, max_sequences=34))


@contextmanager
def opened(
    settings: Settings,
    model: str,
    *,
    parallel: int | None = None,
    progress: Callable[[str], None] = lambda text: None,
    selection: PluginSelection = EVERYTHING,
) -> Iterator[Session]:
    """What stands in for ``reame_core.session.open_session``."""
    made = backend()
    manager = plugins(made, settings.values.plugins.tables, selection)
    options = EngineOptions(context_length=_CONTEXT, parallel=parallel or 4, max_rows=made.info.max_rows)
    worker = EngineWorker(Engine(made, options, manager.engine_hooks()))
    try:
        yield Session(worker, manager, ChatTemplate.for_model(made.info), {"model": model, "threads": 1})
    finally:
        worker.close(PATIENCE)
        manager.shutdown()


def serve_once(
    settings: Settings,
    open_model: Callable[[Callable[[str], None]], AbstractContextManager[Session]],
    note: Callable[[str], None],
) -> None:
    """What stands in for ``reame_core.server.serve.serve``: on a free port, until it has answered once."""
    with open_model(note) as session, listening(session, settings) as (address, _):
        assert httpx.get(f"{address}/health", timeout=PATIENCE).status_code == 200


def fetched(entry: Entry, source: object, catalogue: Catalogue, **wishes: object) -> Path:
    """What stands in for a download: an empty model in the models folder."""
    path = catalogue.folder.path / f"{entry.name}.gguf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@contextmanager
def served() -> Iterator[str]:
    """The address of a server that answers for any model name, with every plugin."""
    settings = load_settings(environment={"REAME_SERVER__ANY_MODEL": "true"})
    made = backend()
    manager = plugins(made, {}, EVERYTHING)
    model = FakeModel(made, manager, context_length=_CONTEXT)
    try:
        with listening(model, settings) as (address, _):
            yield address
    finally:
        model.close()
        manager.shutdown()
