"""Keys in the Authorization header."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reame_core.server.errors import ApiError, send_error
from reame_core.server.gateway.trace import trace_of

if TYPE_CHECKING:
    from reame_core.server.api_keys import ApiKeys
    from reame_core.server.gateway.asgi import App, Receive, Scope, Send


class Authentication:
    """Lets requests with a key through, and those for ``open_paths``. Without keys everybody is let in."""

    def __init__(self, app: App, keys: ApiKeys, *, open_paths: Callable[[], frozenset[str]]) -> None:
        self._app = app
        self._keys = keys
        self._open_paths = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._keys:
            name = self._keys.owner(_credentials(scope))
            if name is None and scope["path"] not in self._open_paths():
                await send_error(_refusal(scope), send)
                return
            trace_of(scope).key_name = name or ""
        await self._app(scope, receive, send)


def _credentials(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, credentials = value.strip().partition(b" ")
            return credentials.strip() if scheme.lower() == b"bearer" else b""
    return b""


def _refusal(scope: Scope) -> ApiError:
    given = any(name == b"authorization" for name, _ in scope["headers"])
    message = (
        "the API key is not one of this server's"
        if given
        else "an API key is missing: send it as 'Authorization: Bearer KEY'"
    )
    return ApiError(401, message, code="invalid_api_key", headers={"www-authenticate": "Bearer"})
