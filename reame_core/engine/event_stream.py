"""The events of one request, for a thread that waits for them."""

from __future__ import annotations

import queue
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from reame_core.engine.events import Event, Failed, Finished

if TYPE_CHECKING:
    from reame_core.engine.group import Sink
    from reame_core.engine.worker import Ticket


class EventStream:
    """An iterator that ends when each choice has had its last event. ``close``, leaving a ``with`` block early,
    and dropping the stream cancel the request."""

    def __init__(self, choices: int) -> None:
        self._batches: queue.SimpleQueue[list[Event]] = queue.SimpleQueue()
        self.sink: Sink = self._batches.put
        """Any thread may call it. It does not keep the stream alive."""
        self._ready: deque[Event] = deque()
        self._open_choices = choices
        self.ticket: Ticket | None = None

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> Event:
        if not self._ready:
            if not self._open_choices:
                raise StopIteration
            self._ready.extend(self._batches.get())
        event = self._ready.popleft()
        self._open_choices -= isinstance(event, (Finished, Failed))
        return event

    def close(self) -> None:
        """Cancel what is not finished. May be called more than once."""
        if self._open_choices and self.ticket is not None:
            self.ticket.cancel()
        self._open_choices = 0
        self._ready.clear()

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> EventStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
