"""The layer on a real store, with an embedding model that is none, by a clock that only moves when told to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reame_arca.answers.layer import Answers
from reame_arca.answers.leases import Leases
from reame_arca.options import Options
from reame_arca.sealing import Space
from reame_arca.service import Service
from reame_arca.similar.entry import LARGEST_VALUE, Entry, to_message
from reame_arca.similar.layer import Similar
from reame_arca.similar.mirror import PAGE
from reame_arca.store import Store

from plugins.reame_arca.tests.real_store import RealStore, wait_until
from plugins.reame_arca.tests.similar.embedders import DIMENSION, BagOfWords
from reame_core.engine.events import TextDelta
from reame_core.engine.request import Request, SamplingParams
from reame_core.plugins.api import AnsweredChoice, AskAgain, KnownAnswer, LastMessage, Question
from reame_core.testing import FakeClock

ANSWER = [AnsweredChoice([TextDelta(0, "Hello", (4, 5))], "stop", 3)]
ASKED = "How do I boil an egg?"
SIMILAR = "how do i boil an egg"
REST = (7, 8, 9)


class Server:
    """One server's part."""

    def __init__(self, url: str, embedder: BagOfWords | None = None, **options: Any) -> None:
        self.clock = FakeClock()
        self.clock.now = 1000.0
        self.embedder = embedder or BagOfWords()
        chosen = Options(url=url, **{"similar": True, "timeout_ms": 2000, **options})
        self.store = Store.at(chosen)

        def space(layer: str, tenant: str, scope: Mapping[str, str]) -> Space:
            return Space(chosen.prefix, layer, scope, tenant, chosen.read_secret())

        def now() -> float:
            return self.clock.now

        leases = Leases(self.store, 100)
        self.answers = Answers(
            chosen, self.store, space, {"model": "m"}, 100, clock=now, wall_clock=now, leases=leases
        )
        self.similar = Similar(
            chosen, self.store, space, self.answers, self.embedder, clock=now, wall_clock=now
        )
        # What the layers have in common, without a context to start it in.
        self.service = Service.__new__(Service)
        self.service.answers, self.service.similar = self.answers, self.similar

    def ask(self, text: str, rest: tuple[int, ...] = REST, **more: Any) -> tuple[Question, KnownAnswer | None]:
        """Until there is an answer, or it has to be computed."""
        tokens = tuple(text.encode())
        fields = {key: more.pop(key) for key in ("room", "exact", "fields", "versions") if key in more}
        request = Request(prompt=tuple(byte % 100 for byte in tokens), **{"max_tokens": 50, **more})
        question = Question(
            request,
            **{"room": 50, "exact": False, **fields},
            last_message=lambda: LastMessage(text, rest),
        )
        return question, self.again(question)

    def recalled(self, text: str, rest: tuple[int, ...] = REST, **more: Any) -> KnownAnswer | None:
        """As ``ask``; what has to be computed is not."""
        question, found = self.ask(text, rest, **more)
        if found is None:
            self.service.keep(question, None)
        # A lock that is given up is given up in the background, and this clock stands still for whoever waits.
        assert self.store.flush(20)
        return found

    def again(self, question: Question) -> KnownAnswer | None:
        deadline = time.monotonic() + 60
        while isinstance(found := self.service.recall(question), AskAgain):
            assert time.monotonic() < deadline
        return found

    def teach(self, text: str = ASKED, answer: list[AnsweredChoice] | None = ANSWER, **more: Any) -> None:
        """Ask, compute, and wait until others can know."""
        before = self.count("published") + self.count("no vector")
        question, found = self.ask(text, **more)
        assert found is None
        self.service.keep(question, answer)
        wait_until(lambda: self.count("published") + self.count("no vector") > before)
        assert self.store.flush(20)

    def count(self, outcome: str) -> float:
        return self.store.counts.get("similar", outcome)

    def close(self) -> None:
        self.embedder.gate.set()
        self.similar.close()
        self.answers.close()
        self.store.close(0.1)


Make = Callable[..., Server]


@pytest.fixture
def server(store: RealStore) -> Iterator[Make]:
    with ExitStack() as stack:

        def start(**options: Any) -> Server:
            made = Server(store.url, **options)
            stack.callback(made.close)
            return made

        yield start


def index_name(store: RealStore) -> str:
    [name] = store.names("reame:similar:*")
    return name


def test_what_was_asked_in_other_words_is_known(server: Make) -> None:
    one, two = server(), server()
    one.teach()
    two.clock.now = 1030.0
    answer = two.recalled(SIMILAR)
    assert answer is not None
    assert answer.choices[0].deltas[0].text == "Hello"
    assert answer.note == {"answer": "similar", "similarity": 1.0, "question": ASKED, "age_s": 30.0}
    assert answer.headers == {"x-reame-arca": "similar"}
    assert two.count("recalled") == 1


def test_the_same_is_the_same_and_not_similar(server: Make) -> None:
    one = server()
    one.teach()
    answer = one.recalled(ASKED)
    assert answer is not None
    assert answer.note == {"answer": "exact", "age_s": 0.0}
    assert answer.headers == {"x-reame-arca": "exact"}


@pytest.mark.parametrize(
    "other",
    [
        {"rest": (7, 8)},
        {"tenant": "b"},
        {"max_tokens": 49},
        {"stop": ("x",)},
        {"sampling": SamplingParams(temperature=0, repeat_penalty=1.2)},
        {"sampling": SamplingParams(temperature=0, logit_bias={1: 1.0})},
        {"sampling": SamplingParams(temperature=0.5, seed=1)},
        {"exact": True},
        {"n": 2},
        {"logprobs": 1},
        {"fields": {"s": {"tools": []}}},
        {"constraint": lambda prompt: None},
        {"extra": {"arca": {"similar": False}}},
        {"extra": {"arca": {"answers": False}}},
    ],
)
def test_whatever_else_differs_is_computed(server: Make, other: dict[str, Any]) -> None:
    one = server()
    one.teach()
    assert one.recalled(SIMILAR, **other) is None
    assert one.recalled(SIMILAR) is not None


def test_the_room_that_a_prompt_leaves_does_not_matter_as_long_as_the_answer_fits(server: Make) -> None:
    one = server()
    one.teach()
    assert one.recalled(SIMILAR, room=40) is not None
    assert one.recalled(SIMILAR, room=2) is None


@pytest.mark.parametrize(("completion", "shared"), [(50, True), (49, False)])
def test_an_answer_is_whole_or_cut_where_both_are_cut(server: Make, completion: int, shared: bool) -> None:
    one = server()
    question, _ = one.ask(ASKED)
    one.service.keep(question, [AnsweredChoice([TextDelta(0, "Hel", (4,))], "length", completion)])
    if shared:
        wait_until(lambda: one.count("published") == 1)
    assert one.store.flush(20)
    assert (one.recalled(SIMILAR) is not None) == shared


@pytest.mark.parametrize(
    ("taught", "asked"),
    [
        ("Boil 5 eggs", "boil 6 eggs"),
        ("Is the egg safe", "is not the egg safe"),
        ("Dog bites man", "Man bites dog"),
        ("Turn it on", "turn it off"),
    ],
)
def test_a_detail_makes_another_question(server: Make, taught: str, asked: str) -> None:
    one = server(similar_threshold=0.01)
    one.teach(taught)
    assert one.recalled(asked) is None
    assert one.count("differs in a detail") == 1


def test_what_is_not_near_enough_is_computed(server: Make) -> None:
    one = server()
    one.teach()
    assert one.recalled("how do i mend a tyre of my bicycle") is None
    assert one.count("none like it") == 2, "there was nothing at first"


def test_whoever_waits_for_the_same_goes_on(server: Make, store: RealStore) -> None:
    one = server()
    one.teach()
    assert one.recalled(SIMILAR) is not None
    assert one.store.flush(20)
    wait_until(lambda: not store.names("*:lock"))


def test_nothing_is_kept_of_what_nobody_answers(server: Make, store: RealStore) -> None:
    one = server()
    for answer in (None, [replace(ANSWER[0], reason="length")]):
        question, _ = one.ask(ASKED)
        one.service.keep(question, answer)
        assert one.store.flush(20)
    assert not store.names("reame:similar:*")


def test_an_answer_that_is_gone_is_computed(server: Make, store: RealStore) -> None:
    one = server()
    one.teach()
    with store.client() as client:
        client.delete(*store.names("reame:answers:*"))
    assert one.recalled(SIMILAR) is None
    assert one.count("gone") == 1
    assert one.recalled(SIMILAR + " ") is None
    assert one.count("gone") == 1, "it is not asked for again"


def test_an_answer_to_something_else_under_its_name_is_none(server: Make, store: RealStore) -> None:
    one = server()
    one.teach()
    one.teach("Something different")
    with store.client() as client:
        first, second = store.names("reame:answers:*")
        swapped = client.get(first), client.get(second)
        client.set(second, swapped[0])
        client.set(first, swapped[1])
    assert one.recalled(SIMILAR) is None
    assert one.count("gone") == 1


def test_old_questions_are_not_compared(server: Make) -> None:
    one = server(similar_ttl_days=1)
    one.teach()
    two = server(similar_ttl_days=1)
    assert two.recalled(SIMILAR) is not None
    two.clock.now += 90_000
    assert two.recalled(SIMILAR) is None
    three = server(similar_ttl_days=1)
    three.clock.now += 90_000
    assert three.recalled(SIMILAR) is None


def test_a_store_that_has_lost_everything_is_begun_anew(server: Make, store: RealStore) -> None:
    one, two = server(), server()
    one.teach()
    assert two.recalled(SIMILAR) is not None
    with store.client() as client:
        client.flushall()
    assert two.recalled(SIMILAR) is None
    one.teach(answer=[AnsweredChoice([TextDelta(0, "Anew", (4,))], "stop", 2)])
    answer = two.recalled(SIMILAR)
    assert answer is not None
    assert answer.choices[0].deltas[0].text == "Anew"


def test_the_index_is_bounded(server: Make, store: RealStore) -> None:
    one = server(similar_max=100)
    for number in range(350):
        one.similar._publish(  # type: ignore[attr-defined]
            one.similar._mirror(""),
            Entry(b"r", f"q {number}", "reame:answers:" + "0" * 64, 1000.0),
            one.embedder.embed(f"q {number}"),
        )
    assert one.store.flush(20)
    with store.client() as client:
        assert 100 <= client.xlen(index_name(store)) <= 300, "about so many"
        assert client.pttl(index_name(store)) > 0
    two = server(similar_max=100)
    two.ask(ASKED)
    [size] = [metric.samples[0].value for metric in two.similar.metrics() if metric.name == "similar_vectors"]
    assert size <= 100


def test_a_long_index_is_read_in_the_background(server: Make) -> None:
    one = server()
    for number in range(2 * PAGE + 5):
        one.similar._publish(  # type: ignore[attr-defined]
            one.similar._mirror(""),
            Entry(b"r", f"q {number}", "reame:answers:" + "0" * 64, 1000.0),
            one.embedder.embed(f"q {number}"),
        )
    one.teach()
    two = server()
    wait_until(lambda: two.recalled(SIMILAR) is not None)


def test_wrong_entries_are_none(server: Make, store: RealStore) -> None:
    one = server()
    one.teach()
    name = index_name(store)
    mirror = one.similar._mirror("")  # type: ignore[attr-defined]
    space = mirror._space
    good = np.eye(DIMENSION, dtype=np.float32)[0]
    entry = Entry(b"r", "q", "reame:answers:" + "0" * 64, 1000.0)
    wrong = [
        to_message(space, name, entry, good[:-1]),
        to_message(space, name, entry, np.full_like(good, np.nan)),
        to_message(space, name, entry, np.full_like(good, np.inf)),
        to_message(space, name, entry, good * 0),
        to_message(space, name, entry, good * 2),
        to_message(space, name, replace(entry, answer="another:key"), good),
        to_message(space, name, replace(entry, text="x" * 3000), good),
        to_message(space, "another:stream", entry, good),
        to_message(Space("reame", "similar", {}, "another tenant", None), name, entry, good),
        {b"q": b"garbage"},
        {b"another": b"field"},
        {b"q": space.seal(name, b"garbage")},
        {b"q": bytes(LARGEST_VALUE + 1)},
    ]
    with store.client() as client:
        for fields in wrong:
            client.xadd(name, fields)
    assert one.recalled(SIMILAR) is not None
    assert one.count("damaged") == len(wrong)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda vector: vector * np.nan,
        lambda vector: vector * 0,
        lambda vector: vector[:-1],
        lambda vector: "no vector",
        lambda vector: None,
        lambda vector: 1 / 0,
    ],
)
def test_a_model_that_fails_costs_nothing_but_speed(server: Make, spoil: Any) -> None:
    one, two = server(), server(embedder=BagOfWords(spoil))
    one.teach()
    two.teach(SIMILAR)
    assert two.count("no vector") == 2, "once to compare and once to keep"


def test_a_model_that_takes_forever_is_not_waited_for(server: Make) -> None:
    one, two = server(), server()
    one.teach()
    two.embedder.gate.clear()
    question = Question(
        Request(prompt=(1,), max_tokens=50), 50, False, last_message=lambda: LastMessage(SIMILAR, REST)
    )
    assert isinstance(two.service.recall(question), AskAgain)
    assert two.embedder.begun.wait(60)
    two.clock.now += 0.2
    assert two.service.recall(question) is None
    assert two.count("too late") == 1
    two.service.keep(question, None)
    two.clock.now += 10
    assert two.recalled(f"{SIMILAR}!") is None
    assert two.count("no vector") == 1, "nothing new is begun"


def test_a_full_store_and_one_that_is_away(server: Make, store: RealStore) -> None:
    one = server()
    one.teach()
    store.fill()
    assert one.recalled(SIMILAR) is not None, "a full store is still read"
    question, _ = one.ask("Something different")
    one.service.keep(question, ANSWER)
    store.kill()
    for number in range(5):
        question, answer = one.ask(f"{SIMILAR} {'x ' * number}y")
        assert answer is None
        one.service.keep(question, ANSWER)


def test_values_are_sealed(server: Make, store: RealStore) -> None:
    secret = "a secret that nobody guesses"
    one = server(secret=secret)
    one.teach()
    with store.client() as client:
        assert b"boil" not in b"".join(
            value for _, fields in client.xrange(index_name(store)) for value in fields.values()
        )
    assert server(secret=secret).recalled(SIMILAR) is not None
    assert server().recalled(SIMILAR) is None
