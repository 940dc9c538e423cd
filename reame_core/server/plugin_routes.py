"""Routes of plugins, and what their handlers may use of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import structlog

from reame_core.engine.events import Event, Finished
from reame_core.models.prompt import chat_tokens, raw_tokens
from reame_core.server.gateway.trace import trace_of
from reame_core.server.generation.exchange import Exchange

if TYPE_CHECKING:
    from litestar import Litestar

    from reame_core.engine.backend import ModelInfo
    from reame_core.engine.request import Request
    from reame_core.server.state import ServedModel, ServerState

log = structlog.get_logger("reame.plugins")

T = TypeVar("T")


def add_plugin_routes(app: Litestar, server: ServerState, model: ServedModel) -> None:
    """Ask every plugin for its routes. One whose routes cannot be added goes without them."""
    access = PluginAccess(server, model)
    for plugin, call in model.plugins.hook("register_routes").calls:
        for handler in call(access) or ():
            try:
                app.register(handler)
            except Exception:
                log.exception("a route of a plugin cannot be added", plugin=plugin)


class PluginAccess:
    """``ServerAccess`` of ``reame_core.plugins.api``."""

    def __init__(self, server: ServerState, model: ServedModel) -> None:
        self._server = server
        self._model = model

    @property
    def model(self) -> ModelInfo:
        return self._model.info

    @property
    def context_length(self) -> int:
        return self._model.worker.engine.options.context_length

    def chat_tokens(self, messages: Sequence[Mapping[str, object]]) -> tuple[int, ...]:
        return chat_tokens(self._model.worker.engine.backend, self._model.template, messages)

    def raw_tokens(self, text: str) -> tuple[int, ...]:
        return raw_tokens(self._model.worker.engine.backend, text)

    def caller(self, connection: object) -> str:
        return _key_name(connection)

    def tenant(self, connection: object) -> str:
        return self._server.tenant(_key_name(connection))

    async def run(self, request: Request) -> list[Event]:
        self._server.ready()
        exchange = Exchange(self._server, self._model, [request], "prompt")
        events: list[Event] = []
        open_choices = request.n
        try:
            while open_choices:
                fresh = await exchange.take()
                open_choices -= sum(isinstance(event, Finished) for event in fresh)
                events += fresh
        finally:
            exchange.close()
        return events

    async def on_engine(self, action: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()

        def settle(set_result: Callable[[Any], None], value: Any) -> None:
            if not result.done():
                set_result(value)

        def run(_: object) -> None:
            try:
                value = action()
            except Exception as error:
                loop.call_soon_threadsafe(settle, result.set_exception, error)
            else:
                loop.call_soon_threadsafe(settle, result.set_result, value)

        self._model.worker.call(run)
        return await result


def _key_name(connection: object) -> str:
    scope = cast("dict[str, Any]", cast("Any", connection).scope)
    return trace_of(scope).key_name
