"""The layer on a real store, by a clock that only moves when told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from reame_arca.answers.layer import Answers
from reame_arca.answers.leases import Leases
from reame_arca.answers.record import encode
from reame_arca.options import Options
from reame_arca.sealing import Space
from reame_arca.store import Store

from plugins.reame_arca.tests.real_store import RealStore, wait_until
from reame_core.engine.events import TextDelta
from reame_core.engine.request import Request
from reame_core.plugins.api import AnsweredChoice, AskAgain, KnownAnswer, Question
from reame_core.testing import FakeClock

REQUEST = Request(prompt=(1, 2, 3), max_tokens=8)
ANSWER = [AnsweredChoice([TextDelta(0, "Hello", (4, 5))], "stop", 3)]
NAMESPACE = {"model": "m", "weight_buffers": "repacked", "flash_attention": "on"}


class Server:
    """One server's part."""

    def __init__(
        self, url: str, namespace: dict[str, str] = NAMESPACE, *, lease_s: float = 100, **options: Any
    ) -> None:
        self.clock = FakeClock()
        chosen = Options(url=url, **{"timeout_ms": 2000, **options})
        self.store = Store.at(chosen)
        secret = chosen.read_secret()
        self.answers = Answers(
            chosen,
            self.store,
            lambda layer, tenant, scope: Space(chosen.prefix, layer, scope, tenant, secret),
            namespace,
            100,
            clock=self.clock,
            wall_clock=self.clock,
            leases=Leases(self.store, lease_s),
        )

    def ask(self, request: Request = REQUEST, **more: Any) -> tuple[Question, object]:
        question = Question(request, **{"room": 8, "exact": False, **more})
        return question, self.answers.recall(question)

    def keep(self, question: Question, answer: list[AnsweredChoice] | None = ANSWER) -> None:
        self.answers.keep(question, answer)
        assert self.store.flush(20)

    def teach(self, request: Request = REQUEST, **more: Any) -> None:
        """Ask and compute."""
        question, answer = self.ask(request, **more)
        assert answer is None
        self.keep(question)

    def count(self, outcome: str) -> float:
        return self.store.counts.get("answers", outcome)

    def close(self) -> None:
        self.answers.close()
        self.store.close(0.1)


@pytest.fixture
def server(store: RealStore) -> Iterator[Callable[..., Server]]:
    """Makes servers on ``store``."""
    with ExitStack() as stack:

        def start(**options: Any) -> Server:
            made = Server(store.url, **options)
            stack.callback(made.close)
            return made

        yield start


Make = Callable[..., Server]


def test_what_one_has_computed_the_other_knows(server: Make) -> None:
    one, two = server(), server()
    one.clock.now = 100
    one.teach()
    two.clock.now = 130
    _, answer = two.ask()
    assert answer == KnownAnswer(
        [replace(ANSWER[0], deltas=tuple(ANSWER[0].deltas))],
        {"answer": "exact", "age_s": 30.0},
        {"x-reame-arca": "exact"},
    )
    assert (two.count("recalled"), one.count("computed")) == (1, 1)
    assert two.store.counts.get("answers_tokens") == 3


@pytest.mark.parametrize(
    "other",
    [
        {"request": replace(REQUEST, prompt=(1, 2, 4))},
        {"request": replace(REQUEST, tenant="b")},
        {"room": 9},
        {"exact": True},
        {"fields": {"s": {"regex": "a"}}},
    ],
)
def test_another_question_has_another_answer(server: Make, other: dict[str, Any]) -> None:
    one = server()
    one.teach()
    assert one.ask(**other)[1] is None


@pytest.mark.parametrize(
    ("other", "exact", "same"),
    [
        ({"model": "n"}, False, False),
        ({"weight_buffers": "plain"}, False, True),
        ({"weight_buffers": "plain"}, True, False),
        ({"flash_attention": "off"}, False, True),
        ({"build": "2"}, False, False),
    ],
)
def test_another_model_has_another_answer(server: Make, other: dict[str, str], exact: bool, same: bool) -> None:
    server().teach(exact=exact)
    found = server(namespace={**NAMESPACE, **other}).ask(exact=exact)[1]
    assert isinstance(found, KnownAnswer) == same


@pytest.mark.parametrize("options", [{"secret": "another secret, as long"}, {"prefix": "other"}])
def test_servers_with_another_secret_or_prefix_share_nothing(server: Make, options: dict[str, str]) -> None:
    server(secret="a secret that nobody guesses").teach()
    assert server(**options).ask()[1] is None


def test_only_one_computes_and_the_others_wait(server: Make) -> None:
    one, two = server(), server()
    question, answer = one.ask()
    assert answer is None
    waiting, answer = two.ask()
    assert isinstance(answer, AskAgain)
    two.clock.now += 1
    assert isinstance(two.answers.recall(waiting), AskAgain)
    one.keep(question)
    two.clock.now += 1
    assert isinstance(two.answers.recall(waiting), KnownAnswer)


def test_many_requests_of_one_server_ask_as_often_as_one(server: Make) -> None:
    one, two = server(), server()
    one.ask()
    assert isinstance(two.ask()[1], AskAgain)
    asked: list[object] = []
    original = two.store.ask
    two.store.ask = lambda *arguments: asked.append(1) or original(*arguments)  # type: ignore[method-assign]
    for _ in range(20):
        assert isinstance(two.ask()[1], AskAgain)
    assert not asked
    two.clock.now += 0.02
    assert isinstance(two.ask()[1], AskAgain)
    assert asked


def test_nobody_waits_longer_than_is_allowed(server: Make) -> None:
    one, two = server(), server(answers_wait_s=5)
    one.ask()
    waiting, answer = two.ask()
    assert isinstance(answer, AskAgain)
    two.clock.now += 4.9
    assert isinstance(two.answers.recall(waiting), AskAgain)
    two.clock.now += 0.2
    assert two.answers.recall(waiting) is None
    assert two.count("waited in vain") == 1


def test_nobody_waits_where_that_is_not_wanted(server: Make, store: RealStore) -> None:
    one, two = server(answers_wait_s=0), server(answers_wait_s=0)
    assert one.ask()[1] is None
    assert two.ask()[1] is None
    assert not store.names()


def test_a_given_up_answer_is_computed_by_the_next(server: Make) -> None:
    one, two = server(), server()
    question, _ = one.ask()
    waiting, answer = two.ask()
    assert isinstance(answer, AskAgain)
    one.keep(question, None)
    two.clock.now += 1
    assert two.answers.recall(waiting) is None
    two.keep(waiting)
    assert isinstance(one.ask()[1], KnownAnswer)


def test_a_lock_lasts_while_it_is_held_and_ends_with_its_holder(server: Make, store: RealStore) -> None:
    one, two = server(lease_s=1.5), server()
    question, _ = one.ask()
    with store.client() as client:
        [lock] = store.names("*:lock")
        wait_until(lambda: client.info("commandstats").get("cmdstat_eval", {}).get("calls", 0) >= 4)
        assert client.exists(lock), "longer than it would last by itself"
    one.answers.close()
    waiting, _ = two.ask()

    def ended() -> bool:
        two.clock.now += 0.02
        return two.answers.recall(waiting) is None

    wait_until(ended)
    assert question is not waiting


def test_a_lock_that_another_one_holds_by_now_is_left_alone(server: Make, store: RealStore) -> None:
    one = server()
    question, _ = one.ask()
    [lock] = store.names("*:lock")
    with store.client() as client:
        client.set(lock, b"another")
        one.keep(question, None)
        assert client.get(lock) == b"another"


def test_locks_are_gone_once_the_answer_is_there(server: Make, store: RealStore) -> None:
    server().teach()
    assert not store.names("*:lock")
    with store.client() as client:
        [name] = store.names()
        assert 6.9 * 86_400_000 < client.pttl(name) <= 7 * 86_400_000


def test_answers_that_are_too_long_are_not_shared_and_nobody_waits_for_them(server: Make) -> None:
    one, two = server(answers_max_kb=1), server()
    question, _ = one.ask()
    waiting, answer = two.ask()
    assert isinstance(answer, AskAgain)
    # Characters that hardly compress.
    text = "".join(chr(0x4E00 + (number * 7919) % 20_000) for number in range(2000))
    one.keep(question, [AnsweredChoice([TextDelta(0, text, (4, 5))], "stop", 3)])
    two.clock.now += 1
    assert two.answers.recall(waiting) is None
    assert two.ask()[1] is None


@pytest.mark.parametrize("secret", [None, "a secret that nobody guesses"])
@pytest.mark.parametrize("value", ["none", "random", "flipped", "another's", "another kind"])
def test_poisoned_values_are_computed_anew(
    server: Make, store: RealStore, value: str, secret: str | None
) -> None:
    one = server(secret=secret)
    one.teach()
    one.teach(replace(REQUEST, prompt=(9,)))
    names = store.names()
    with store.client() as client:
        for name in names:
            good = client.get(name)
            if value == "none":
                client.set(name, b"")
            elif value == "random":
                client.set(name, bytes(range(256)))
            elif value == "flipped":
                client.setrange(name, len(good) - 9, bytes([good[-9] ^ 1]))
            elif value == "another kind":
                client.delete(name)
                client.lpush(name, b"x")
        if value == "another's":
            values = [client.get(name) for name in names]
            for name, exchanged in zip(names, reversed(values), strict=True):
                client.set(name, exchanged)
    question, answer = one.ask()
    assert answer is None
    one.keep(question)
    assert one.count("spoilt") == (value in ("random", "flipped", "another's"))
    if value != "another kind":
        assert isinstance(one.ask()[1], KnownAnswer), "the right one takes its place"


@pytest.mark.parametrize(
    "change",
    [
        lambda material, answer: encode(material + b"x", 1, answer),
        lambda material, answer: encode(material, 1, [*answer, *answer]),
        lambda material, answer: encode(material, 1, [replace(answer[0], completion=1000)]),
        lambda material, answer: b"r" + material,
    ],
)
def test_values_that_are_sealed_and_wrong_are_computed_anew(
    server: Make, store: RealStore, change: Callable[[bytes, list[AnsweredChoice]], bytes]
) -> None:
    """As somebody would write them who knows how: without a secret anybody could."""
    one = server()
    question, _ = one.ask()
    case = one.answers._cases[question]
    one.keep(question)
    with store.client() as client:
        client.set(case.name, case.space.seal(case.name, change(case.material, ANSWER)))
    assert one.ask()[1] is None
    assert one.count("spoilt") == 1


def test_a_store_that_is_away_is_not_asked(server: Make, store: RealStore) -> None:
    one = server()
    one.teach()
    store.kill()
    for _ in range(5):
        question, answer = one.ask()
        assert answer is None
        one.keep(question)
    assert one.count("not asked") == 5
    assert not one.store.available


def test_a_full_store_is_read_and_not_waited_for(server: Make, store: RealStore) -> None:
    one = server()
    one.teach()
    store.fill()
    assert isinstance(one.ask()[1], KnownAnswer)
    for _ in range(3):
        question, answer = one.ask(replace(REQUEST, prompt=(7, 7)))
        assert answer is None
        one.keep(question)


def test_requests_that_do_not_want_it_are_not_asked_for(server: Make, store: RealStore) -> None:
    one = server()
    one.teach(replace(REQUEST, extra={"arca": {"answers": False}}))
    assert not store.names()


def test_nothing_is_remembered_of_questions_that_have_ended(server: Make) -> None:
    one = server()
    for number in range(10):
        one.teach(replace(REQUEST, prompt=(number,)))
        assert isinstance(one.ask(replace(REQUEST, prompt=(number,)))[1], KnownAnswer)
    assert not one.answers._cases
