"""Paths and methods as clients and monitors really send them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_core.server.gateway.asgi import App, Message, Receive, Scope, Send

_SLASHES = re.compile("/{2,}")


class TidyPaths:
    """Double and trailing slashes do not count (a base URL ending in one makes both), and HEAD is GET
    without the body."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = _SLASHES.sub("/", scope["path"]).rstrip("/") or "/"
        if scope["method"] != "HEAD":
            scope["path"] = path
            await self._app(scope, receive, send)
            return

        async def headers_only(message: Message) -> None:
            if message["type"] == "http.response.body":
                message["body"] = b""
            await send(message)

        # A copy: the server underneath has to know that it was HEAD.
        as_get = {**scope, "path": path, "method": "GET"}
        await self._app(as_get, receive, headers_only)
        scope.setdefault("path_template", as_get.get("path_template", ""))
