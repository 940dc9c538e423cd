"""No body larger than the server is ready to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.server.errors import ApiError, send_error

if TYPE_CHECKING:
    from reame_core.server.gateway.asgi import App, Message, Receive, Scope, Send


class BodyLimit:
    """413 for bodies of more than ``limit`` bytes: before reading where the length is announced, while
    reading where it is not."""

    def __init__(self, app: App, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if announced.isdigit() and int(announced) > self._limit:
            await send_error(self._refusal(), send)
            return
        received = 0

        async def counted_receive() -> Message:
            nonlocal received
            message = await receive()
            if message["type"] == "http.request":
                received += len(message["body"])
                if received > self._limit:
                    raise self._refusal()
            return message

        await self._app(scope, counted_receive, send)

    def _refusal(self) -> ApiError:
        return ApiError(
            413,
            f"the body is larger than {self._limit / 1_000_000:g} MB, the limit of this server"
            " (server.max_body_mb)",
            code="body_too_large",
        )
