"""Events on their way from the engine's thread to one reader on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from reame_core.engine.events import Event, TextDelta


class Mailbox:
    """What the reader has not taken yet is kept and merged, so that a slow reader costs the engine nothing
    and the server no more memory than the answers have text. ``stalled`` is called once a reader has left
    events lying for ``patience`` seconds. All methods are for the event loop."""

    def __init__(self, patience: float, stalled: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._patience = patience
        self._stalled = stalled
        self._pending: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._closed = False
        self._merge = True

    def put(self, events: Iterable[Event], *, merge: bool = True) -> None:
        """``merge`` False has what is pending handed over as it is: the pieces of an answer that comes all at
        once are as many for its reader as they were."""
        if self._closed:
            return
        self._merge = self._merge and merge
        self._pending += events
        if self._waiter is None and self._alarm is None:
            self._alarm = self._loop.call_later(self._patience, self._stalled)
        self.wake()

    def wake(self) -> None:
        """Let the reader have what there is, be it nothing."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def take(self, timeout: float | None = None) -> list[Event]:
        """What has come since the last time; nothing after ``timeout`` seconds or a ``wake``."""
        self._disarm()
        if not self._pending:
            self._waiter = self._loop.create_future()
            timer = None if timeout is None else self._loop.call_later(timeout, self.wake)
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        pending, self._pending = self._pending, []
        merge, self._merge = self._merge, True
        return merged(pending) if merge else pending

    def close(self) -> None:
        """Nothing will be taken any more."""
        self._closed = True
        self._disarm()

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None


def merged(events: list[Event]) -> list[Event]:
    """``events`` with neighbouring deltas of one choice made one. Order within a choice is kept."""
    if len(events) < 2:
        return events
    result: list[Event] = []
    open_runs: dict[int, list[TextDelta]] = {}
    for event in events:
        if isinstance(event, TextDelta):
            open_runs.setdefault(event.choice, []).append(event)
            continue
        if event.choice in open_runs:
            result.append(_joined(open_runs.pop(event.choice)))
        result.append(event)
    return result + [_joined(run) for run in open_runs.values()]


def _joined(run: list[TextDelta]) -> TextDelta:
    if len(run) == 1:
        return run[0]
    return TextDelta(
        run[0].choice,
        "".join(delta.text for delta in run),
        tuple(token for delta in run for token in delta.tokens),
        tuple(logprob for delta in run for logprob in delta.logprobs),
    )
