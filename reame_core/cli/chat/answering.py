"""Getting one answer and showing it while it comes."""

from __future__ import annotations

import queue
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING

from reame_core.cli.answer import Choice
from reame_core.cli.chat.keyboard import interrupts, unseen_typing
from reame_core.engine.events import Event, TextDelta

if TYPE_CHECKING:
    from reame_core.cli.chat.display import AnswerView, Display
    from reame_core.engine.request import Request
    from reame_core.engine.worker import Ticket
    from reame_core.session import Session

_STOP_HINT = "Ctrl-C stops"


class Answering:
    """One answer under way. ``choice`` is what came of it, ``interrupted`` whether the user stopped it."""

    def __init__(self, session: Session, request: Request, display: Display, *, progress: bool) -> None:
        self.choice = Choice(0)
        self.interrupted = False
        self._session = session
        self._request = request
        self._display = display
        self._show_progress = progress
        # None stands for Ctrl-C: a signal handler may put something here whatever it interrupts.
        self._events: queue.SimpleQueue[list[Event] | None] = queue.SimpleQueue()
        self._begun = monotonic()
        self._first: float | None = None
        """When the first token came."""
        self._tokens = 0

    def run(self) -> None:
        """Until the answer has ended. Ctrl-C ends it within one step of the engine; another Ctrl-C does not
        wait for that. Raises what ``EngineWorker.submit`` raises, before anything is shown."""
        with ExitStack() as cleanup:
            cleanup.enter_context(interrupts(lambda: self._events.put(None)))
            ticket = self._session.worker.submit(self._request, self._events.put)
            cleanup.callback(ticket.cancel)
            cleanup.enter_context(unseen_typing())
            self._follow(ticket, cleanup.enter_context(self._display.answer()))

    def _follow(self, ticket: Ticket, view: AnswerView) -> None:
        while not self.choice.ended:
            pause = view.paint(self._progress() if self._show_progress else "")
            try:
                batch = self._events.get(timeout=pause)
            except queue.Empty:
                continue
            if batch is not None:
                self._take(batch, view)
            elif self.interrupted:
                return
            else:
                self.interrupted = True
                ticket.cancel()

    def _take(self, batch: list[Event], view: AnswerView) -> None:
        for event in batch:
            self.choice.take(event)
            if isinstance(event, TextDelta):
                self._first = self._first or monotonic()
                self._tokens += len(event.tokens)
                view.add(event.text)

    def _progress(self) -> str:
        now = monotonic()
        if self.interrupted:
            return "stopping ..."
        if self._first is None:
            return f"reading {len(self._request.prompt)} tokens, {now - self._begun:.0f} s ({_STOP_HINT})"
        elapsed = now - self._first
        speed = f", {self._tokens / elapsed:.1f} tokens/s" if elapsed > 0 else ""
        return f"{self._tokens} tokens{speed} ({_STOP_HINT})"
