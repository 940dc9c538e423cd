"""Adds a route to the server: how many tokens a text has."""

from __future__ import annotations

import msgspec
from litestar import post
from litestar.handlers import HTTPRouteHandler

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import ServerAccess


class Text(msgspec.Struct):
    text: str


class Length(msgspec.Struct):
    tokens: int
    fits: bool
    """Whether an answer has room behind it."""


class OldRoutes:
    """Keys, size limits, error shapes, the log and the metrics of the server apply to its routes as well."""

    @hookimpl
    def register_routes(self, server: ServerAccess) -> list[HTTPRouteHandler]:
        """Handlers run on the event loop, where anything that blocks stops every stream."""

        @post("/v1/old-routes/length", status_code=200)
        async def length(data: Text) -> Length:
            """How long a text is for the model."""
            tokens = len(server.raw_tokens(data.text)) if data.text else 0
            return Length(tokens, tokens < server.context_length)

        return [length]
