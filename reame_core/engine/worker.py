"""The engine's thread, and the ways to talk to it from others."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable

from reame_core.engine.engine import Engine
from reame_core.engine.event_stream import EventStream
from reame_core.engine.events import Event, Failed, Finished
from reame_core.engine.group import RequestGroup, Sink
from reame_core.engine.request import Request
from reame_core.errors import EngineError, ReameError

log = logging.getLogger("reame.engine")


class QueueFull(ReameError):
    """Too many choices are waiting; try again later."""


class EngineClosed(ReameError):
    """The engine is stopping and takes no more requests."""


class Ticket:
    """A submitted request, for cancelling it. ``cancel`` may be called from any thread, more than once."""

    def __init__(self, worker: EngineWorker, request: Request, sink: Sink) -> None:
        self._worker = worker
        self.request = request
        self.sink = sink
        self.group: RequestGroup | None = None
        """Set on the engine thread, when the engine has taken the request."""

    def cancel(self) -> None:
        """Stop the request within one step, and a batch that is computed for it alone at once; each choice
        still ends with a Finished event."""
        self._worker.call(lambda engine: engine.cancel(self.group) if self.group else None)
        if (group := self.group) is not None:
            self._worker.engine.interrupt(group)


class EngineWorker:
    """Runs ``engine`` on a thread of its own. All public methods may be called from any thread."""

    def __init__(self, engine: Engine, *, queue_limit: int = 256) -> None:
        self.engine = engine
        self._queue_limit = queue_limit
        self._inbox: deque[Callable[[Engine], object]] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="reame-engine", daemon=True)
        self._thread.start()

    def submit(self, request: Request, sink: Sink) -> Ticket:
        """Queue ``request``; its events go to ``sink`` on the engine thread.

        Raises InvalidRequest, QueueFull or EngineClosed before anything is queued.
        """
        self.engine.check(request)
        with self._wake:
            if self._closing:
                raise EngineClosed("the engine is stopping")
            if self.engine.waiting + len(self._inbox) >= self._queue_limit + self.engine.places:
                raise QueueFull(f"{self._queue_limit} requests are waiting already: try again later")
            ticket = Ticket(self, request, sink)
            self._inbox.append(lambda engine: self._submit(engine, ticket))
            self._wake.notify()
        return ticket

    @staticmethod
    def _submit(engine: Engine, ticket: Ticket) -> None:
        try:
            ticket.group = engine.submit(ticket.request, ticket.sink)
        except Exception as error:
            ticket.sink([Failed(choice, error) for choice in range(ticket.request.n)])
            raise

    def call(self, action: Callable[[Engine], object]) -> None:
        """Run ``action`` on the engine thread between two steps."""
        with self._wake:
            self._inbox.append(action)
            self._wake.notify()

    def stream(self, request: Request) -> EventStream:
        """The events of ``request`` until each choice has ended. Closing the stream cancels."""
        stream = EventStream(request.n)
        stream.ticket = self.submit(request, stream.sink)
        return stream

    async def astream(self, request: Request) -> AsyncIterator[Event]:
        """As ``stream``, for the running event loop."""
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[list[Event]] = asyncio.Queue()

        def post(batch: list[Event]) -> None:
            try:
                loop.call_soon_threadsafe(events.put_nowait, batch)
            except RuntimeError:  # the loop is closed: nobody listens any more
                ticket.cancel()

        ticket = self.submit(request, post)
        open_choices = request.n
        try:
            while open_choices:
                for event in await events.get():
                    open_choices -= isinstance(event, (Finished, Failed))
                    yield event
        finally:
            if open_choices:
                ticket.cancel()

    def close(self, timeout: float | None = None) -> None:
        """Cancel what runs and stop the thread. The backend stays open."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._inbox and self.engine.idle and not self._closing:
                    self._wake.wait()
                actions = list(self._inbox)
                self._inbox.clear()
                closing = self._closing
            for action in actions:
                self._guarded(action)
            if closing:
                self._guarded(Engine.cancel_all)
                return
            self._guarded(Engine.step)

    def _guarded(self, action: Callable[[Engine], object]) -> None:
        """Whatever goes wrong costs the requests under way, never the thread."""
        try:
            action(self.engine)
        except Exception as error:
            log.exception("the engine's step failed; all requests under way fail with it")
            try:
                self.engine.fail_all(EngineError(f"internal error: {error}"))
            except Exception:
                log.exception("the KV memory could not be cleared")
