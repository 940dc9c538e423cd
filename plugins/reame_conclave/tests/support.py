"""Engines and servers with the plugin, on the fake backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from reame_conclave.ballot import Ballot
from reame_conclave.options import ConclaveOptions, read_rules
from reame_conclave.plugin import NAME, ConclavePlugin
from reame_conclave.service import Contest

from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request
from reame_core.engine.verification import CoreVerifier
from reame_core.plugins.api import PluginContext
from reame_core.plugins.manager import PluginManager
from reame_core.testing import FakeBackend
from tests.engine.support import hook
from tests.server.support import FakeModel, Running, running, settings_with

CHAT = "/v1/chat/completions"


def started(**options: object) -> ConclavePlugin:
    """The plugin as an engine starts it."""
    plugin = ConclavePlugin()
    plugin.startup(PluginContext(FakeBackend().info, options))
    return plugin


def hooks(plugin: ConclavePlugin, *, drafts: bool = False) -> EngineHooks:
    """What the engine calls of it; with ``drafts`` candidates draft from each other."""
    found = EngineHooks(select_winner=hook(plugin.select_winner, name=NAME))
    return replace(found, propose_draft=hook(plugin.propose_draft, name=NAME)) if drafts else found


def contested(request: Request, **wishes: object) -> tuple[Request, Ballot]:
    """``request`` as a vote, and the vote."""
    contest = Contest(read_rules(wishes, ConclaveOptions()))
    served = contest.applied_to(request)
    return served, contest.ballots[0]


@contextmanager
def serving(
    *others: tuple[str, object],
    backend: FakeBackend | None = None,
    parallel: int = 4,
    options: Mapping[str, object] | None = None,
    **settings: Any,
) -> Iterator[Running]:
    """A server with the plugin and ``others``."""
    plugin = started(**(options or {}))
    manager = PluginManager(builtins=((NAME, plugin), *others, ("core", CoreVerifier())), entry_points=[])
    model = FakeModel(backend or FakeBackend(cells=4096), manager, parallel=parallel)
    with running(model, settings_with(**settings)) as server:
        yield server


def vote(**wishes: object) -> dict[str, object]:
    """The part of a body that asks for a vote."""
    return {"reame": {"conclave": wishes}}
