"""What route handlers of plugins have of the HTTP server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from reame_core.engine.backend import ModelInfo
    from reame_core.engine.events import Event
    from reame_core.engine.request import Request

T = TypeVar("T")


class ServerAccess(Protocol):
    """The HTTP server, as route handlers of plugins use it. All methods are for its event loop."""

    @property
    def model(self) -> ModelInfo: ...

    @property
    def context_length(self) -> int:
        """Tokens one sequence can hold."""
        ...

    def chat_tokens(self, messages: Sequence[Mapping[str, object]]) -> tuple[int, ...]:
        """The prompt of a chat, by the model's template. Raises InvalidRequest."""
        ...

    def raw_tokens(self, text: str) -> tuple[int, ...]:
        """The prompt of a text to be continued as it is. Raises InvalidRequest."""
        ...

    def caller(self, connection: object) -> str:
        """The name of the key that a Litestar request came with; empty without one."""
        ...

    def tenant(self, connection: object) -> str:
        """Whose prefixes the caller of a Litestar request shares: for ``Request.tenant``."""
        ...

    async def run(self, request: Request) -> list[Event]:
        """All events of ``request``; raises its error where it fails. Cancelling the call cancels it."""
        ...

    async def on_engine(self, action: Callable[[], T]) -> T:
        """Run ``action`` on the engine thread, between two steps. It stops every user while it runs."""
        ...
