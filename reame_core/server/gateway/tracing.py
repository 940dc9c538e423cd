"""The outermost layer: an id for every request, a line in the log, and no exception that gets past it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import structlog

from reame_core.server.errors import ApiError, api_error, send_error
from reame_core.server.gateway.trace import begin_trace

if TYPE_CHECKING:
    from reame_core.server.gateway.asgi import App, Message, Receive, Scope, Send
    from reame_core.server.metrics import Metrics

log = structlog.get_logger("reame.http")

_QUIET = frozenset({"/health", "/metrics"})
"""Asked for every few seconds by machines: logged at level debug."""


class Tracing:
    """See the module's docstring."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        trace = begin_trace(scope)
        status = 0

        async def traced_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", trace.id.encode())]
            await send(message)

        started = time.perf_counter()
        try:
            with structlog.contextvars.bound_contextvars(request_id=trace.id):
                try:
                    await self._app(scope, receive, traced_send)
                except Exception as error:
                    if not isinstance(error, ApiError):
                        log.exception("request failed")
                    if not status:
                        await send_error(api_error(error, trace.id), traced_send)
        finally:
            elapsed = time.perf_counter() - started
            template = scope.get("path_template", "")
            self._metrics.http_response(template, status)
            level = log.debug if scope["path"] in _QUIET and status < 400 else log.info
            if trace.key_name:
                trace.fields["key"] = trace.key_name
            level(
                "request",
                request_id=trace.id,
                method=scope["method"],
                path=scope["path"],
                status=status or None,
                ms=round(1000 * elapsed, 1),
                **trace.fields,
            )
