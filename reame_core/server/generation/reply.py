"""What the responses of both endpoints have in common."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from reame_core.engine.events import Event, Finished, TextDelta
from reame_core.server.generation.logprobs import TokenTexts
from reame_core.server.generation.outcome import Outcomes
from reame_core.server.generation.usage import report_of, usage_of
from reame_core.server.wire.body import encode

if TYPE_CHECKING:
    from reame_core.server.generation.preparation import Prepared
    from reame_core.server.state import ServedModel, ServerState
    from reame_core.server.wire.responses import ReameReport, Usage

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Head:
    """The same in every chunk of a stream."""

    id: str
    created: int
    model: str
    system_fingerprint: str
    texts: TokenTexts


def new_head(server: ServerState, model: ServedModel, prefix: str) -> Head:
    """``prefix`` begins the id."""
    return Head(
        f"{prefix}-{uuid.uuid4().hex}",
        int(time.time()),
        model.info.name,
        server.fingerprint,
        TokenTexts(model.worker.engine.backend),
    )


def sse(chunk: msgspec.Struct) -> bytes:
    """``chunk`` as an event of a stream."""
    return b"data: " + encode(chunk) + b"\n\n"


class ChunkMaker(Protocol):
    """One endpoint's chunks. Choices are numbered as the client sees them."""

    def delta(self, event: TextDelta) -> list[msgspec.Struct]:
        """The chunks that deliver ``event``."""
        ...

    def finish(self, event: Finished, report: ReameReport | UnsetType) -> list[msgspec.Struct]:
        """The last chunks of a choice; ``report`` goes into the last one of the stream."""
        ...

    def usage(self, usage: Usage, report: ReameReport) -> msgspec.Struct:
        """The chunk behind all choices."""
        ...


class StreamWriter:
    """Turns events into the bytes of a stream. Where only some of what is computed is the answer, nothing
    is written before it is known which."""

    def __init__(self, prepared: Prepared, chunks: ChunkMaker) -> None:
        self._prepared = prepared
        self._chunks = chunks
        self._open = len(prepared.requests) * prepared.n
        self.outcomes = Outcomes(prepared)

    @property
    def done(self) -> bool:
        return self._open == 0

    def write(self, events: list[Event]) -> bytes:
        """What to send for ``events``: whole events of the stream, or nothing."""
        self.outcomes.take(events)
        if not self._prepared.selects:
            return b"".join(self._of_event(event) for event in events)
        if not self.outcomes.done:
            return b""
        chosen = enumerate(self.outcomes.answers())
        return b"".join(self._of_event(event) for choice, outcome in chosen for event in outcome.events(choice))

    def _of_event(self, event: Event) -> bytes:
        match event:
            case TextDelta():
                return _all(self._chunks.delta(event))
            case Finished():
                self._open -= 1
                return self._last(event) if self.done else _all(self._chunks.finish(event, UNSET))
        return b""

    def _last(self, event: Finished) -> bytes:
        report = report_of(self.outcomes.finished, self._prepared.services.reports())
        if not self._prepared.include_usage:
            return _all(self._chunks.finish(event, report)) + DONE
        usage = self._chunks.usage(usage_of(self.outcomes.finished), report)
        return _all(self._chunks.finish(event, UNSET)) + sse(usage) + DONE


def _all(chunks: Iterable[msgspec.Struct]) -> bytes:
    return b"".join(map(sse, chunks))
