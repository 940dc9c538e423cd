"""What a command needs of ``reame_core.session``, which is imported by the commands that load a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from reame_core.config import Settings
    from reame_core.engine.backend import ModelInfo
    from reame_core.engine.events import Event
    from reame_core.engine.request import Request
    from reame_core.plugins.selection import PluginSelection


class EventStream(Protocol):
    """The events of one request. ``close`` cancels it."""

    def __iter__(self) -> Iterator[Event]: ...

    def close(self) -> object: ...


class Session(Protocol):
    @property
    def info(self) -> ModelInfo: ...

    @property
    def description(self) -> Mapping[str, object]: ...

    def chat_tokens(self, messages: list[dict[str, str]], /) -> tuple[int, ...]: ...

    def raw_tokens(self, text: str, /) -> tuple[int, ...]: ...

    def stream(self, request: Request, /) -> EventStream: ...


def open_session(
    settings: Settings,
    model: str,
    *,
    parallel: int | None,
    progress: Callable[[str], None],
    selection: PluginSelection,
) -> AbstractContextManager[Session]:
    from importlib import import_module

    opened: AbstractContextManager[Session] = import_module("reame_core.session").open_session(
        settings, model, parallel=parallel, progress=progress, selection=selection
    )
    return opened
