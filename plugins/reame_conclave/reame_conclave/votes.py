"""What became of votes, for metrics. Any thread."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from reame_conclave.report import tokens
from reame_core.plugins.api import Metric, Sample

if TYPE_CHECKING:
    from reame_conclave.ballot import Ballot

HOW = ("votes", "tie", "prose", "probability")


class Votes:
    """Counts votes that are over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_how: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._stopped = 0

    def count(self, ballot: Ballot) -> None:
        """``ballot`` has its verdict."""
        assert ballot.verdict is not None
        with self._lock:
            self._by_how[ballot.verdict.how] += 1
            self._tokens.update(tokens(ballot))
            self._stopped += 0 if ballot.poll is None else len(ballot.poll.running)

    def metrics(self) -> list[Metric]:
        with self._lock:
            by_how, spent, stopped = dict(self._by_how), dict(self._tokens), self._stopped
        return [
            Metric(
                "votes",
                "Votes, by how they were decided.",
                "counter",
                [Sample(by_how.get(how, 0), {"decided_by": how}) for how in HOW],
            ),
            Metric(
                "tokens",
                "Tokens of candidates: generated, generated in vain, and saved (an estimate).",
                "counter",
                [Sample(spent.get(kind, 0), {"kind": kind}) for kind in ("generated", "cancelled", "saved")],
            ),
            Metric(
                "stopped", "Candidates that were stopped because a vote was over.", "counter", [Sample(stopped)]
            ),
        ]
