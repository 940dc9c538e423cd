"""Votes from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from reame_conclave.options import ConclaveOptions, read_rules
from reame_conclave.plugin import NAME
from reame_conclave.report import report
from reame_conclave.service import Contest
from reame_core.engine.events import Event, Failed, Finished, TextDelta
from reame_core.engine.request import Request
from reame_core.errors import PluginError


class EventStream(AbstractContextManager[Any], Iterable[Event], Protocol):
    """The events of a request; leaving the context cancels what still runs."""


class Streaming(Protocol):
    """What runs requests: a session of ``reame_core.session``."""

    def stream(self, request: Request) -> EventStream:
        """The events of ``request``."""
        ...


@dataclass(frozen=True, slots=True)
class Elected:
    """What has come of a vote."""

    text: str
    """Of the winner."""
    finished: Finished
    """How it ended, with its own usage and timings."""
    candidates: tuple[str, ...]
    """All texts, also those that were stopped."""
    report: Mapping[str, Any]
    """Votes, consensus and tokens, as in an HTTP response."""


def best_of(session: Streaming, request: Request, **wishes: object) -> Elected:
    """Answer ``request`` several times and choose: ``wishes`` are the fields of ``reame.conclave``, as ``n=5``.

    Blocks until the vote is over. Raises InvalidRequest for a wrong wish, PluginError where ``session`` does
    not use this plugin, and the error of a candidate that failed.
    """
    contest = Contest(read_rules(wishes, ConclaveOptions()))
    request = contest.applied_to(request)
    texts: list[list[str]] = [[] for _ in range(request.n)]
    ends: dict[int, Finished] = {}
    with session.stream(request) as events:
        for event in events:
            match event:
                case TextDelta():
                    texts[event.choice].append(event.text)
                case Finished():
                    ends[event.choice] = event
                case Failed():
                    raise event.error
    [ballot] = contest.ballots
    if ballot.verdict is None:
        raise PluginError(f"nobody has judged the candidates: this session does not use the plugin {NAME!r}")
    winner = ballot.verdict.winner
    told = report(contest.ballots)
    assert isinstance(told, Mapping)
    return Elected("".join(texts[winner]), ends[winner], tuple(map("".join, texts)), told)
