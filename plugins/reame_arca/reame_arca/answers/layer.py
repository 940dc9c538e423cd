"""Answers that another server, or this one before, has given already."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from reame_arca.answers.leases import Lease, Leases
from reame_arca.answers.record import decode, encode
from reame_arca.forgetful import Forgetful
from reame_arca.store import Unavailable
from reame_arca.wishes import NAME, wants
from reame_core.answers import answer_of, material_of, scope_of
from reame_core.plugins.api import AskAgain, KnownAnswer, Metric, Sample

if TYPE_CHECKING:
    from reame_arca.connection import Client
    from reame_arca.options import Options
    from reame_arca.sealing import Space
    from reame_arca.store import Store
    from reame_core.plugins.api import AnsweredChoice, Question

log = logging.getLogger("reame.plugins.arca")

LAYER = "answers"
_SCOPE = {"format": "answers 1"}
_TOO_LONG_TTL_S = 60.0
_DAY = 86_400.0
_SHORTEST_DELAY_S, _LONGEST_DELAY_S = 0.01, 0.25
_MORE_THAN_A_SEAL = 1024
_OUTCOMES = ("recalled", "computed", "not asked", "spoilt", "waited in vain")


@dataclass(slots=True)
class _Case:
    """How far a question has come."""

    space: Space
    name: str
    material: bytes
    since: float
    lease: Lease | None = None
    """What this server holds while it computes."""
    given_up: bool = False
    spoilt: bool = False
    """Whether a wrong value was found."""

    @property
    def lock(self) -> str:
        return f"{self.name}:lock"


class Answers:
    """``space_of`` makes the space of a layer, a tenant and a scope. For any thread."""

    def __init__(
        self,
        options: Options,
        store: Store,
        space_of: Callable[[str, str, Mapping[str, str]], Space],
        namespace: Mapping[str, str],
        vocabulary: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        leases: Leases | None = None,
    ) -> None:
        self._options = options
        self._store = store
        self._namespace = namespace
        self._vocabulary = vocabulary
        self._clock = clock
        self._wall_clock = wall_clock
        self._leases = leases or Leases(store)
        self._limit = int(1000 * options.answers_max_kb)
        self._cases: Forgetful[Question, _Case] = Forgetful()
        self._computed_elsewhere: Forgetful[str, float] = Forgetful()
        """When each lock that others hold was last seen."""
        self._space_of = lru_cache(256)(lambda tenant, exact: space_of(LAYER, tenant, self.scope(exact)))

    def close(self) -> None:
        """Locks that are held end by themselves."""
        self._leases.close()

    def recall(self, question: Question) -> KnownAnswer | AskAgain | None:
        """See the hook ``recall_answer``."""
        case = self._case(question)
        if case is None:
            return None
        if not self._store.available:
            self._count("not asked")
            return None
        if self._seen_a_moment_ago(case):
            return AskAgain(_SHORTEST_DELAY_S)
        try:
            value = self._store.ask(lambda client: self._read(client, case.name, case.space))
            answer = self._answer(value, case, question) or self._locked_or_answered(case, question)
        except Unavailable as error:
            log.debug("an answer was not asked for: %s", error)
            self._count("not asked")
            return None
        if isinstance(answer, KnownAnswer):
            self._cases.pop(question, None)
            self._count("recalled")
            self._store.counts.add("answers_tokens", by=sum(each.completion for each in answer.choices))
        return answer

    def keep(self, question: Question, answer: Sequence[AnsweredChoice] | None) -> str | None:
        """See the hook ``keep_answer``. Answers its name in the store, where it is shared."""
        case = self._cases.pop(question, None)
        if case is None:
            return None
        lease = case.lease
        if lease is not None:
            self._leases.drop(lease)
        if answer is None:
            if lease is not None:
                self._store.later(len(lease.name), lease.release)
            return None
        self._count("computed")
        value = self._value(case, answer)
        ttl = _DAY * self._options.answers_ttl_days
        too_long = len(value) > self._limit
        if too_long:
            value, ttl = self._value(case, ()), min(ttl, _TOO_LONG_TTL_S)
        taken = self._store.later(len(value), lambda client: _write(client, case.name, value, ttl, lease))
        return case.name if taken and not too_long else None

    def fetch(self, name: str, question: Question) -> tuple[Sequence[AnsweredChoice], float] | None:
        """The answer of this name, to another question of the same tenant, and when it was computed (seconds
        since 1970); None where there is none, or none that could be one to ``question``. Raises Unavailable."""
        space = self._space_of(question.request.tenant, question.exact)
        payload = self._store.ask(lambda client: self._read(client, name, space))
        record = decode(payload) if payload else None
        if record is None or space.name(record.material) != name:
            return None
        choices = answer_of(record, question, self._vocabulary)
        return None if choices is None else (choices, record.made_at)

    def metrics(self) -> list[Metric]:
        counts = self._store.counts
        return [
            counts.metric("answers", "Questions by what became of them.", "outcome", _OUTCOMES),
            Metric(
                "answers_tokens",
                "Tokens that were not generated.",
                "counter",
                [Sample(counts.get("answers_tokens"))],
            ),
        ]

    def _case(self, question: Question) -> _Case | None:
        """None for questions that are not asked."""
        if (known := self._cases.get(question)) is not None:
            return None if known.given_up else known
        if not wants(question.request, LAYER):
            return None
        material = material_of(question, keeper=NAME, seeded=self._options.answers_seeded)
        if material is None:
            return None
        space = self._space_of(question.request.tenant, question.exact)
        case = _Case(space, space.name(material), material, self._clock())
        self._cases[question] = case
        return case

    def _read(self, client: Client, name: str, space: Space) -> bytes | None:
        """The payload; empty for a value that is not what was written there."""
        found: object = client.getrange(name, 0, self._limit + _MORE_THAN_A_SEAL)
        if not isinstance(found, bytes) or not found:
            return None
        return space.open(name, found) or b""

    def _answer(self, payload: bytes | None, case: _Case, question: Question) -> KnownAnswer | None:
        """None where there is none, or a wrong one. A case whose answer is not shared is given up."""
        if payload is None:
            return None
        record = decode(payload)
        if record is None or record.material != case.material:
            self._spoilt(case)
            return None
        if not record.choices:
            case.given_up = True
            return None
        choices = answer_of(record, question, self._vocabulary)
        if choices is None:
            self._spoilt(case)
            return None
        age = max(0.0, self._wall_clock() - record.made_at)
        return KnownAnswer(choices, {"answer": "exact", "age_s": round(age, 1)}, {"x-reame-arca": "exact"})

    def _locked_or_answered(self, case: _Case, question: Question) -> KnownAnswer | AskAgain | None:
        """Take the lock, and look once more: whoever had it writes the answer before it is free again. None
        where this server is to compute."""
        if case.given_up or not self._options.answers_wait_s or not self._store.takes_values:
            return None
        lease = self._leases.new(case.lock)
        try:
            taken, payload = self._store.ask(lambda client: self._lock_and_read(client, case, lease))
        except Unavailable:
            # It may have been taken all the same, and nobody is to wait for it.
            self._store.later(len(lease.name), lease.release)
            raise
        if taken:
            answer = self._answer(payload, case, question)
            if answer is not None or case.given_up:
                self._store.later(len(lease.name), lease.release)
                return answer
            case.lease = lease
            self._leases.hold(lease)
            return None
        waited = self._clock() - case.since
        if waited >= self._options.answers_wait_s:
            case.given_up = True
            self._count("waited in vain")
            return None
        self._computed_elsewhere[case.name] = self._clock()
        return AskAgain(min(_LONGEST_DELAY_S, max(_SHORTEST_DELAY_S, waited / 8)))

    def _lock_and_read(self, client: Client, case: _Case, lease: Lease) -> tuple[bool, bytes | None]:
        if not client.set(case.lock, lease.token, nx=True, px=self._leases.milliseconds):
            return False, None
        return True, self._read(client, case.name, case.space)

    def _seen_a_moment_ago(self, case: _Case) -> bool:
        """Whether another request of this server has just found that somebody computes it: then that many
        requests ask no more often than one."""
        if self._clock() - case.since >= self._options.answers_wait_s:
            return False
        seen = self._computed_elsewhere.get(case.name)
        if seen is None:
            return False
        if self._clock() - seen < _SHORTEST_DELAY_S:
            return True
        # Of several at this moment one asks.
        return self._computed_elsewhere.pop(case.name, None) is None

    def _value(self, case: _Case, answer: Sequence[AnsweredChoice]) -> bytes:
        return case.space.seal(case.name, encode(case.material, self._wall_clock(), answer))

    def scope(self, exact: bool) -> dict[str, str]:
        """What answers depend on beside the question."""
        return {**scope_of(self._namespace, exact=exact), **_SCOPE}

    def _spoilt(self, case: _Case) -> None:
        if not case.spoilt:
            case.spoilt = True
            self._count("spoilt")

    def _count(self, outcome: str) -> None:
        self._store.counts.add("answers", outcome)


def _write(client: Client, name: str, value: bytes, ttl_s: float, lease: Lease | None) -> None:
    try:
        client.set(name, value, px=max(1, int(1000 * ttl_s)))
    finally:
        # Behind the answer: whoever gets the lock next looks for it first.
        if lease is not None:
            lease.release(client)
