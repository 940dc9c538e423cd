"""Answers to questions that mean the same, of all servers: an index over the answers of L1."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reame_arca.answers.layer import LAYER as ANSWERS
from reame_arca.forgetful import Forgetful
from reame_arca.similar.details import difference
from reame_arca.similar.embedding import Embedding
from reame_arca.similar.entry import LONGEST_TEXT, Entry
from reame_arca.similar.mirror import Mirror
from reame_arca.similar.rest import rest_of
from reame_arca.store import Unavailable
from reame_arca.wishes import wants
from reame_core.plugins.api import AskAgain, KnownAnswer, Metric, Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reame_arca.answers.layer import Answers
    from reame_arca.options import Options
    from reame_arca.sealing import Space
    from reame_arca.store import Store
    from reame_core.plugins.api import AnsweredChoice, Embedder, Question

    Vector = NDArray[np.float32] | None

log = logging.getLogger("reame.plugins.arca")

LAYER = "similar"
MOST_TOKENS = 128
"""Of the embedding model, in a question. What is longer is a document, and no vector of it tells much."""
_DAY = 86_400.0
_DELAY_S = 0.002
_CANDIDATES = 8
_OUTCOMES = (
    "recalled",
    "none like it",
    "differs in a detail",
    "too late",
    "no vector",
    "not asked",
    "gone",
    "damaged",
    "published",
)


@dataclass(slots=True)
class _Case:
    """How far a question has come."""

    rest: bytes
    text: str
    mirror: Mirror
    vector: Future[Vector] | None = None
    until: float = 0.0
    """When nobody waits for the vector any more."""


class Similar:
    """``space`` makes the space of a layer, a tenant and a scope. For any thread."""

    def __init__(
        self,
        options: Options,
        store: Store,
        space: Callable[[str, str, Mapping[str, str]], Space],
        answers: Answers,
        embedder: Embedder,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._options = options
        self._store = store
        self._answers = answers
        self._dimension = embedder.dimension
        self._clock = clock
        self._wall_clock = wall_clock
        self._scope = {
            **answers.scope(exact=False),
            "format": "similar 1",
            "embedder": embedder.fingerprint,
        }
        self._space = space
        self._embedding = Embedding(embedder, clock)
        self._cases: Forgetful[Question, _Case] = Forgetful()
        self._mirrors: OrderedDict[str, Mirror] = OrderedDict()
        self._behind: set[str] = set()
        self._catching_up = ThreadPoolExecutor(1, "reame-arca-similar")
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def close(self) -> None:
        """What waits for a vector is not published."""
        self._closing.set()
        self._embedding.close()
        self._catching_up.shutdown(wait=True, cancel_futures=True)

    def knows(self, question: Question) -> bool:
        """Whether ``recall`` was asked about it, and has asked to be asked again."""
        return question in self._cases

    def recall(self, question: Question) -> KnownAnswer | AskAgain | None:
        """See the hook ``recall_answer``."""
        case = self._cases.get(question)
        if case is None:
            case = self._case(question)
            if case is None or not self._begin(case, question.request.tenant):
                return None
        assert case.vector is not None
        if not case.vector.done():
            if self._clock() < case.until:
                return AskAgain(_DELAY_S)
            self._count("too late")
            return None
        vector = case.vector.result()
        if vector is None:
            self._count("no vector")
            return None
        answer = self._find(case, vector, question)
        if answer is not None:
            self._cases.pop(question, None)
        return answer

    def keep(self, question: Question, answer: Sequence[AnsweredChoice] | None, name: str | None) -> None:
        """See the hook ``keep_answer``. ``name`` is that of the answer in the store, None where it is not
        shared."""
        case = self._cases.pop(question, None)
        if case is None or answer is None or name is None or not _is_whole(answer, question):
            return
        if not self._store.takes_values:
            return
        vector = case.vector or self._embedding.submit(case.text)
        if vector is None:
            self._count("no vector")
            return
        entry = Entry(case.rest, case.text, name, self._wall_clock())
        vector.add_done_callback(lambda done: self._publish(case.mirror, entry, done.result()))

    def metrics(self) -> list[Metric]:
        """What became of questions, and how many there are to compare with."""
        counts = self._store.counts
        with self._lock:
            size = sum(map(len, self._mirrors.values()))
        return [
            counts.metric("similar", "Questions by what became of them.", "outcome", _OUTCOMES),
            Metric("similar_vectors", "Questions to compare with.", "gauge", [Sample(size)]),
        ]

    def _case(self, question: Question) -> _Case | None:
        """None for questions that are not compared."""
        if not (wants(question.request, LAYER) and wants(question.request, ANSWERS)):
            return None
        message = question.last_message()
        if message is None or not 0 < len(message.text.strip()) <= LONGEST_TEXT:
            return None
        rest = rest_of(question, message.rest, seeded=self._options.answers_seeded)
        if rest is None:
            return None
        case = _Case(rest, message.text, self._mirror(question.request.tenant))
        self._cases[question] = case
        return case

    def _mirror(self, tenant: str) -> Mirror:
        """Of those that were not used for longest some make room."""
        most = self._options.similar_max
        with self._lock:
            mirror = self._mirrors.pop(tenant, None)
            if mirror is None:
                ttl = _DAY * self._options.similar_ttl_days
                space = self._space(LAYER, tenant, self._scope)
                mirror = Mirror(space, self._dimension, most, ttl, self._wall_clock)
            self._mirrors[tenant] = mirror
            while len(self._mirrors) > 1 and sum(map(len, self._mirrors.values())) > most:
                self._mirrors.popitem(last=False)
        return mirror

    def _begin(self, case: _Case, tenant: str) -> bool:
        """Whether there is something to compare with, and the vector is on its way."""
        try:
            more = self._store.ask(case.mirror.read)
        except Unavailable as error:
            log.debug("similar questions were not asked for: %s", error)
            self._count("not asked")
            return False
        self._count_damaged(case.mirror)
        if more:
            self._catch_up(case.mirror, tenant)
        if not case.mirror.has(case.rest):
            self._count("none like it")
            return False
        case.vector = self._embedding.submit(case.text)
        if case.vector is None:
            self._count("no vector")
            return False
        case.until = self._clock() + self._options.similar_wait_ms / 1000
        return True

    def _catch_up(self, mirror: Mirror, tenant: str) -> None:
        """Read the rest in the background."""
        with self._lock:
            if tenant in self._behind:
                return
            self._behind.add(tenant)

        def read() -> None:
            try:
                with suppress(Unavailable):
                    while not self._closing.is_set() and self._store.patiently(mirror.read):
                        pass
                self._count_damaged(mirror)
            finally:
                with self._lock:
                    self._behind.discard(tenant)

        with suppress(RuntimeError):
            self._catching_up.submit(read)

    def _find(self, case: _Case, vector: NDArray[np.float32], question: Question) -> KnownAnswer | None:
        outcome = "none like it"
        near = case.mirror.nearest(case.rest, vector, self._options.similar_threshold, _CANDIDATES)
        for cosine, entry in near:
            if difference(entry.text, case.text) is not None:
                outcome = "differs in a detail"
                continue
            try:
                found = self._answers.fetch(entry.answer, question)
            except Unavailable:
                outcome = "not asked"
                break
            if found is None or not _is_whole(found[0], question):
                case.mirror.forget(entry)
                outcome = "gone"
                continue
            choices, made_at = found
            self._count("recalled")
            note = {
                "answer": "similar",
                "similarity": round(cosine, 3),
                "question": entry.text,
                "age_s": round(max(0.0, self._wall_clock() - made_at), 1),
            }
            return KnownAnswer(choices, note, {"x-reame-arca": "similar"})
        self._count(outcome)
        return None

    def _publish(self, mirror: Mirror, entry: Entry, vector: Vector) -> None:
        """On the embedding's thread."""
        if vector is None:
            self._count("no vector")
            return
        size = len(entry.text) + vector.nbytes
        if self._store.later(size, lambda client: mirror.write(client, entry, vector)):
            self._count("published")

    def _count_damaged(self, mirror: Mirror) -> None:
        count, mirror.damaged = mirror.damaged, 0
        if count:
            self._store.counts.add("similar", "damaged", count)

    def _count(self, outcome: str) -> None:
        self._store.counts.add("similar", outcome)


def _is_whole(answer: Sequence[AnsweredChoice], question: Question) -> bool:
    """Whether nothing but what both questions ask for has ended it: not the end of a context that one prompt
    fills more than the other."""
    limit = question.request.max_tokens
    return all(choice.reason == "stop" or choice.completion == limit for choice in answer)
