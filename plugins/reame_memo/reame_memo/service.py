"""What runs while an engine does: which answers are asked for, computed and kept."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from reame_core.answers import answer_of, decode, encode, material_of, scope_of
from reame_core.plugins.api import AskAgain, KnownAnswer, Metric, Sample
from reame_memo.store import Limits, Store
from reame_memo.tenants import tenant_digest
from reame_memo.under_way import UnderWay
from reame_memo.wish import NAME, wants

if TYPE_CHECKING:
    from reame_core.plugins.api import AnsweredChoice, Question
    from reame_memo.options import Options

_FORMAT = "memo 1"
_SHORTEST_DELAY_S, _LONGEST_DELAY_S = 0.01, 0.25
_MOST_NOT_KEPT = 4096
_MOST_CASES = 100_000
"""Far more than questions can be under way: should nobody tell their end, they are asked anew."""
_OUTCOMES = ("recalled", "computed", "spoilt", "waited in vain")


@dataclass(frozen=True, slots=True)
class _Case:
    """A question that was asked."""

    key: bytes
    tenant: bytes
    since: float


class Service:
    """For any thread. ``clock`` and ``wall_clock`` tell seconds."""

    def __init__(
        self,
        options: Options,
        namespace: Mapping[str, str],
        vocabulary: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._options = options
        self._vocabulary = vocabulary
        self._clock = clock
        self._wall_clock = wall_clock
        self._longest = int(1000 * options.longest_kb)
        self.store = Store(options.path, Limits.of(options), clock=clock, wall_clock=wall_clock)
        self._scope = lru_cache(2)(lambda exact: _scope(namespace, exact))
        self._lock = threading.Lock()
        self._cases: dict[Question, _Case] = {}
        self._not_kept: dict[bytes, None] = {}
        """Keys of answers that could not be kept, the newest last: nobody is to wait for them."""
        self._under_way = UnderWay()
        self._counts: Counter[str] = Counter()
        self._tokens = 0

    def close(self) -> None:
        """Nothing is asked or kept any more."""
        self.store.close()

    def recall(self, question: Question) -> KnownAnswer | AskAgain | None:
        """See the hook ``recall_answer``."""
        case = self._cases.get(question)
        if case is not None and self._waits_on(case, question):
            return self._ask_again(case)
        case = case or self._new_case(question)
        if case is None:
            return None
        with self._lock:
            if len(self._cases) >= _MOST_CASES:
                self._cases.clear()
                self._under_way = UnderWay()
            self._cases[question] = case
        answer = self._known(case, question)
        if answer is None:
            if self._is_to_wait(case, question):
                return self._ask_again(case)
            # Whoever computed it may have kept it a moment ago.
            answer = self._known(case, question)
        if answer is None:
            return None
        with self._lock:
            self._cases.pop(question, None)
            self._counts["recalled"] += 1
            self._tokens += sum(choice.completion for choice in answer.choices)
        self._under_way.end(case.key, question)
        return answer

    def keep(self, question: Question, answer: Sequence[AnsweredChoice] | None) -> None:
        """See the hook ``keep_answer``."""
        with self._lock:
            case = self._cases.pop(question, None)
        if case is None:
            return
        try:
            if answer is not None:
                self._count("computed")
                self._keep(case, encode(case.key, self._wall_clock(), answer))
        finally:
            # Behind the answer: whoever waits looks for it first.
            self._under_way.end(case.key, question)

    def metrics(self) -> list[Metric]:
        """For Prometheus."""
        with self._lock:
            counts, tokens = dict(self._counts), self._tokens
        outcomes = [Sample(counts.get(each, 0), {"outcome": each}) for each in _OUTCOMES]
        held = self.store.held(patient=False)
        return [
            Metric("answers", "Questions by what became of them.", "counter", outcomes),
            Metric("tokens", "Tokens that were not generated.", "counter", [Sample(tokens)]),
            Metric(
                "errors",
                "Times the file failed.",
                "counter",
                [Sample(self.store.errors)],
            ),
            Metric("kept", "Answers on disk.", "gauge", [Sample(held.answers)]),
            Metric("kept_bytes", "Size of their file.", "gauge", [Sample(held.bytes)]),
        ]

    def _new_case(self, question: Question) -> _Case | None:
        """None for a question whose answer is not certain, or not to be known."""
        if not wants(question.request):
            return None
        material = material_of(question, keeper=NAME, seeded=self._options.seeded)
        if material is None:
            return None
        tenant = tenant_digest(question.request.tenant)
        return _Case(_key(self._scope(question.exact), tenant, material), tenant, self._clock())

    def _known(self, case: _Case, question: Question) -> KnownAnswer | None:
        value = self.store.get(case.key)
        if value is None:
            return None
        record = decode(value)
        fits = record is not None and record.material == case.key and record.choices
        choices = answer_of(record, question, self._vocabulary) if record is not None and fits else None
        if record is None or choices is None:
            self._count("spoilt")
            self.store.remove(case.key)
            return None
        age = max(0.0, self._wall_clock() - record.made_at)
        note = {"answer": "exact", "age_s": round(age, 1)}
        return KnownAnswer(choices, note, {"x-reame-memo": "exact"})

    def _is_to_wait(self, case: _Case, question: Question) -> bool:
        """Whether somebody else computes the answer, and it is worth waiting for. Otherwise ``question`` is
        now the one that computes it."""
        if not self._options.wait_s or case.key in self._not_kept or not self.store.usable:
            return False
        if self._under_way.begin(case.key, question):
            return False
        if self._waits_on(case, question):
            return True
        self._count("waited in vain")
        return False

    def _waits_on(self, case: _Case, question: Question) -> bool:
        """Whether somebody still computes it, and ``question`` has not waited for long enough."""
        patient = self._clock() - case.since < self._options.wait_s
        return patient and self._under_way.is_elsewhere(case.key, question)

    def _ask_again(self, case: _Case) -> AskAgain:
        waited = self._clock() - case.since
        return AskAgain(min(_LONGEST_DELAY_S, max(_SHORTEST_DELAY_S, waited / 8)))

    def _keep(self, case: _Case, value: bytes) -> None:
        kept = len(value) <= self._longest and self.store.put(case.key, case.tenant, value)
        with self._lock:
            self._not_kept.pop(case.key, None)
            if kept:
                return
            self._not_kept[case.key] = None
            while len(self._not_kept) > _MOST_NOT_KEPT:
                del self._not_kept[next(iter(self._not_kept))]

    def _count(self, outcome: str) -> None:
        with self._lock:
            self._counts[outcome] += 1


def _scope(namespace: Mapping[str, str], exact: bool) -> bytes:
    scope = {**scope_of(namespace, exact=exact), "format": _FORMAT}
    return hashlib.blake2b(json.dumps(scope, sort_keys=True).encode(), digest_size=32).digest()


def _key(scope: bytes, tenant: bytes, material: bytes) -> bytes:
    """32 bytes; the parts before ``material`` have a fixed length."""
    return hashlib.blake2b(scope + tenant + material, digest_size=32, person=b"reame-memo").digest()
