"""Cross-origin requests of web pages. Credentials are never allowed: keys go into a header of the page's
own making, so that a wildcard is harmless."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_core.server.gateway.asgi import App, Message, Receive, Scope, Send

ANY = "*"
_READABLE = b"x-request-id, retry-after"
_ONE_DAY = b"86400"

Headers = list[tuple[bytes, bytes]]


class Cors:
    """Answers preflights, which carry no key, and marks every response, errors too."""

    def __init__(self, app: App, origins: Iterable[str]) -> None:
        self._app = app
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        if origin is None:
            await self._app(scope, receive, send)
            return
        allowed = self._allowed(origin)
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            await _answer_preflight(allowed, headers, send)
            return

        async def marked_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *allowed]
            await send(message)

        await self._app(scope, receive, marked_send)

    def _allowed(self, origin: bytes) -> Headers:
        if ANY in self._origins:
            return [(b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", _READABLE)]
        if origin.decode("latin-1").lower() not in self._origins:
            return [(b"vary", b"origin")]
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _READABLE),
            (b"vary", b"origin"),
        ]


async def _answer_preflight(allowed: Headers, asked: dict[bytes, bytes], send: Send) -> None:
    answer = list(allowed)
    if len(allowed) > 1:
        wanted = asked.get(b"access-control-request-headers", b"authorization, content-type")
        answer += [
            (b"access-control-allow-methods", b"GET, POST, DELETE, OPTIONS"),
            (b"access-control-allow-headers", wanted),
            (b"access-control-max-age", _ONE_DAY),
        ]
        if b"access-control-request-private-network" in asked:
            answer.append((b"access-control-allow-private-network", b"true"))
    await send({"type": "http.response.start", "status": 204, "headers": answer})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
