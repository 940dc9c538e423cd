"""The layers around the application, outermost first: what holds for every request, whether or not a route
matches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from reame_core.server.gateway.authentication import Authentication
from reame_core.server.gateway.body_limit import BodyLimit
from reame_core.server.gateway.cors import Cors
from reame_core.server.gateway.paths import TidyPaths
from reame_core.server.gateway.tracing import Tracing

if TYPE_CHECKING:
    from litestar.types import ASGIApp

    from reame_core.server.gateway.asgi import App
    from reame_core.server.state import ServerState


def gateway(app: ASGIApp, server: ServerState) -> ASGIApp:
    """``app`` with all layers around it, which see HTTP only."""
    settings = server.settings
    layers: App = BodyLimit(cast("App", app), int(settings.max_body_mb * 1_000_000))
    layers = Authentication(layers, server.keys, open_paths=server.open_paths)
    layers = TidyPaths(layers)
    if settings.cors_origins:
        layers = Cors(layers, settings.cors_origins)
    layers = Tracing(layers, server.metrics)

    async def dispatch(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await layers(scope, receive, send)
        else:
            await app(scope, receive, send)

    return dispatch
