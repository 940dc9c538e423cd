"""The plugin on the fake backend: its services, engines with it, a server with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from reame_suggeritore import Suggeritore
from reame_suggeritore.structured.service import Structure

from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request, SamplingParams
from reame_core.engine.verification import CoreVerifier
from reame_core.plugins.api import ApiRequest, FieldService, PluginContext
from reame_core.plugins.manager import PluginManager
from reame_core.testing import FakeBackend
from tests.engine.support import Answer, engine_on, hook, play, prompt
from tests.server.support import FakeModel, Running, running

Schema = dict[str, Any]


def context_of(backend: FakeBackend, chat_template: str | None = None) -> PluginContext:
    info = backend.info if chat_template is None else replace(backend.info, chat_template=chat_template)
    return PluginContext(info, {}, piece=backend.piece, tokenize=backend.tokenize)


def structure_on(backend: FakeBackend, chat_template: str | None = None) -> Structure:
    return Structure(context_of(backend, chat_template))


_STRUCTURE = structure_on(FakeBackend())


def served(**fields: Any) -> FieldService:
    """What the plugin does for a chat with ``fields``."""
    service = _STRUCTURE.serve(ApiRequest("chat", fields, 1, False))
    assert service is not None
    return service


def json_format(schema: object, **more: Any) -> dict[str, Any]:
    """``response_format`` for ``schema``."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, **more}}


def hooks_of(structure: Structure = _STRUCTURE) -> EngineHooks:
    return EngineHooks(propose_draft=hook(structure.propose, name="suggeritore"))


def constrained(service: FieldService, text: str = "go on", **fields: Any) -> Request:
    """A request whose answer ``service`` constrains."""
    fields.setdefault("max_tokens", 120)
    return Request(prompt=prompt(text), constraint=service.constraint, **fields)


def sampled_at(temperature: float, seed: int = 1, **more: Any) -> SamplingParams:
    return SamplingParams(temperature=temperature, seed=seed, **more)


def answer_to(request: Request, *, drafts: bool = True, **backend: Any) -> Answer:
    """What a fresh engine says."""
    backend.setdefault("cells", 512)
    engine = engine_on(FakeBackend(**backend), hooks_of() if drafts else None)
    return play(engine, request)[0][0]


def parsed(answer: Answer) -> Any:
    assert answer.reason == "stop", (answer.reason, answer.error)
    return json.loads(answer.text)


@contextmanager
def serving(
    replies: Mapping[str, str] | None = None, *, template: str | None = None, **options: Any
) -> Iterator[Running]:
    """A server with the plugin. ``template`` is the chat template of its model."""
    backend = FakeBackend(cells=8192, replies=replies)
    if template is not None:
        backend._info = replace(backend._info, chat_template=template)
    manager = PluginManager(
        builtins=(("suggeritore", Suggeritore()), ("core", CoreVerifier())), entry_points=[]
    )
    manager.startup(lambda name: context_of(backend))
    with running(FakeModel(backend, manager, context_length=2048, **options)) as server:
        yield server
