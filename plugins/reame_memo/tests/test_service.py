"""Which answers are known, which are computed, and who waits for whom."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reame_memo.options import Options
from reame_memo.service import Service
from reame_memo.under_way import UnderWay

from plugins.reame_memo.tests.clocks import Clock
from reame_core.answers import encode
from reame_core.engine.events import TextDelta
from reame_core.engine.request import Request, SamplingParams
from reame_core.plugins.api import AnsweredChoice, AskAgain, KnownAnswer, Question

REQUEST = Request(prompt=(1, 2, 3), max_tokens=8)
ANSWER = [AnsweredChoice([TextDelta(0, "Hello", (4, 5))], "stop", 3)]
NAMESPACE = {"model": "m", "weight_buffers": "repacked", "flash_attention": "on"}


class Server:
    """One server's part."""

    def __init__(self, folder: Path, namespace: dict[str, str] = NAMESPACE, **options: Any) -> None:
        self.clock = Clock()
        chosen = Options(folder=str(folder), **options)
        self.service = Service(chosen, namespace, 100, clock=self.clock, wall_clock=self.clock)

    def ask(self, request: Request = REQUEST, **more: Any) -> tuple[Question, object]:
        question = Question(request, **{"room": 8, "exact": False, **more})
        return question, self.service.recall(question)

    def teach(self, request: Request = REQUEST, answer: list[AnsweredChoice] = ANSWER, **more: Any) -> None:
        """Ask and compute."""
        question, known = self.ask(request, **more)
        assert known is None
        self.service.keep(question, answer)

    def knows(self, request: Request = REQUEST, **more: Any) -> bool:
        question, known = self.ask(request, **more)
        self.service.keep(question, None)
        return isinstance(known, KnownAnswer)

    def counted(self, outcome: str) -> float:
        [answers] = [each for each in self.service.metrics() if each.name == "answers"]
        return next(each.value for each in answers.samples if each.labels == {"outcome": outcome})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    with ExitStack() as stack:

        def start(namespace: dict[str, str] = NAMESPACE, **options: Any) -> Server:
            made = Server(tmp_path, namespace, **options)
            stack.callback(made.service.close)
            return made

        yield start


def test_what_was_answered_is_known_here_and_after_a_restart(server: Callable[..., Server]) -> None:
    first = server()
    first.teach()
    first.clock.now += 42
    _, known = first.ask()
    assert isinstance(known, KnownAnswer)
    assert [(list(each.deltas), each.reason, each.completion) for each in known.choices] == [
        ([TextDelta(0, "Hello", (4, 5))], "stop", 3)
    ]
    assert known.note == {"answer": "exact", "age_s": 42.0}
    assert known.headers == {"x-reame-memo": "exact"}
    assert server().knows()
    assert (first.counted("computed"), first.counted("recalled")) == (1, 1)


def test_everything_else_is_another_question(server: Callable[..., Server]) -> None:
    memo = server()
    memo.teach()
    for other in (
        {"prompt": (1, 2, 4)},
        {"n": 2},
        {"stop": ("x",)},
        {"logprobs": 1},
        {"tenant": "alice"},
        {"sampling": SamplingParams(temperature=1)},
        {"sampling": SamplingParams(temperature=1, seed=1)},
        {"sampling": SamplingParams(presence_penalty=1)},
        {"background": True},
    ):
        assert not memo.knows(replace(REQUEST, **other)), other
    assert not memo.knows(room=9)
    assert not memo.knows(exact=True)
    assert not memo.knows(fields={"suggeritore": {"regex": "a"}}, versions={"suggeritore": "1"})
    assert memo.knows()


def test_a_layout_matters_in_exact_mode_alone(server: Callable[..., Server]) -> None:
    plain = {**NAMESPACE, "weight_buffers": "plain"}
    server().teach()
    server().teach(exact=True)
    assert server(plain).knows()
    assert not server(plain).knows(exact=True)
    assert not server({**NAMESPACE, "model": "another"}).knows()


def test_seeds_count_where_that_is_wanted(server: Callable[..., Server]) -> None:
    drawn = replace(REQUEST, sampling=SamplingParams(temperature=1, seed=1))
    memo = server(seeded=True)
    memo.teach(drawn)
    assert memo.knows(drawn)
    assert not memo.knows(replace(drawn, sampling=SamplingParams(temperature=1, seed=2)))
    assert not server().knows(drawn)


def test_a_request_may_decline(server: Callable[..., Server]) -> None:
    memo = server()
    declines = replace(REQUEST, extra={"memo": False})
    question, known = memo.ask(declines)
    assert known is None
    memo.service.keep(question, ANSWER)
    assert not memo.knows()
    memo.teach()
    assert not memo.knows(declines)
    assert memo.knows(replace(REQUEST, extra={"memo": True}))


def test_of_two_at_once_one_computes(server: Callable[..., Server]) -> None:
    memo = server()
    first, known = memo.ask()
    assert known is None
    second, waits = memo.ask()
    third, _ = memo.ask()
    assert isinstance(waits, AskAgain)
    assert 0.01 <= waits.seconds <= 0.25
    assert isinstance(memo.service.recall(second), AskAgain)
    memo.service.keep(first, ANSWER)
    assert isinstance(memo.service.recall(second), KnownAnswer)
    assert isinstance(memo.service.recall(third), KnownAnswer)
    assert len(memo.service._under_way) == 0
    assert not memo.service._cases


def test_whoever_waits_takes_over_when_nothing_comes_of_it(server: Callable[..., Server]) -> None:
    memo = server()
    first, _ = memo.ask()
    second, _ = memo.ask()
    third, _ = memo.ask()
    memo.service.keep(first, None)
    assert memo.service.recall(second) is None, "it computes now"
    assert isinstance(memo.service.recall(third), AskAgain)
    memo.service.keep(third, None)  # its client has gone: that ends nothing
    assert isinstance(memo.ask()[1], AskAgain)
    memo.service.keep(second, ANSWER)
    assert memo.knows()


def test_an_answer_that_is_kept_between_two_looks_is_found(
    server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    memo = server()
    first, _ = memo.ask()
    whether = memo.service._is_to_wait

    def is_to_wait(*asked: Any) -> bool:
        memo.service.keep(first, ANSWER)
        return whether(*asked)

    monkeypatch.setattr(memo.service, "_is_to_wait", is_to_wait)
    assert isinstance(memo.ask()[1], KnownAnswer)
    assert len(memo.service._under_way) == 0
    assert not memo.service._cases


def test_patience_ends(server: Callable[..., Server]) -> None:
    memo = server(wait_s=10)
    memo.ask()
    waits, _ = memo.ask()
    memo.clock.now += 9
    assert isinstance(memo.service.recall(waits), AskAgain)
    memo.clock.now += 2
    assert memo.service.recall(waits) is None
    assert memo.counted("waited in vain") == 1
    memo.service.keep(waits, ANSWER)
    assert memo.knows()


def test_nobody_waits_where_that_is_not_wanted(server: Callable[..., Server]) -> None:
    memo = server(wait_s=0)
    memo.ask()
    assert memo.ask()[1] is None


def test_nobody_waits_for_what_will_not_be_kept(
    server: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memo = server(longest_kb=1)
    long = [AnsweredChoice([TextDelta(0, "x" * 1100, (4,))], "stop", 1)]
    memo.teach(answer=long)
    assert not memo.knows()
    memo.ask()
    assert memo.ask()[1] is None, "too long last time"
    unwritten = server()
    monkeypatch.setattr(unwritten.service.store, "put", lambda *_: False)
    unwritten.teach(replace(REQUEST, prompt=(7,)))
    unwritten.ask(replace(REQUEST, prompt=(7,)))
    assert unwritten.ask(replace(REQUEST, prompt=(7,)))[1] is None, "it could not be written"
    (tmp_path / "file").touch()
    unusable = Server(tmp_path / "file")
    first, _ = unusable.ask()
    unusable.service.keep(first, ANSWER)
    unusable.ask()
    assert unusable.ask()[1] is None, "the folder cannot be made"


@pytest.mark.parametrize(
    "stored",
    [
        b"no record",
        b"",
        encode(b"k" * 32, 1.0, ANSWER),  # of another question
        encode(b"", 1.0, []),
    ],
)
def test_what_is_no_answer_to_this_question_is_a_miss_and_goes(
    server: Callable[..., Server], stored: bytes
) -> None:
    memo = server()
    question, _ = memo.ask()
    key = memo.service._cases[question].key
    memo.service.store.put(key, b"t" * 16, stored)
    memo.service.keep(question, None)
    assert not memo.knows()
    assert memo.service.store.get(key) is None
    assert memo.counted("spoilt") == 1


def test_an_answer_that_cannot_be_one_is_a_miss(server: Callable[..., Server]) -> None:
    """Tokens of a larger vocabulary, or more than there was room for."""
    for impossible in ([(4, 100)], [(4, 5)] * 5):
        answer = [AnsweredChoice([TextDelta(0, "x", tokens) for tokens in impossible], "stop", 10)]
        memo = server()
        question, _ = memo.ask()
        case = memo.service._cases[question]
        memo.service.store.put(case.key, case.tenant, encode(case.key, 1.0, answer))
        memo.service.keep(question, None)
        assert not memo.knows()


def test_questions_and_their_ends_in_any_order(server: Callable[..., Server]) -> None:
    """Nobody waits for ever, nothing is left behind, and of each answer one is computed at a time."""
    generator = random.Random(7)
    memo = server()
    requests = [replace(REQUEST, prompt=(1, number)) for number in range(3)]
    waiting: list[Question] = []
    computing: list[Question] = []
    for _ in range(2000):
        if generator.random() < 0.4:
            waiting.append(Question(generator.choice(requests), room=8, exact=False))
        elif computing and generator.random() < 0.5:
            done = computing.pop(generator.randrange(len(computing)))
            memo.service.keep(done, generator.choice([None, ANSWER]))
            if generator.random() < 0.3:
                memo.service.store.forget()
        for question in list(waiting):
            answer = memo.service.recall(question)
            if isinstance(answer, AskAgain):
                if generator.random() < 0.1:
                    memo.service.keep(question, None)
                    waiting.remove(question)
                continue
            waiting.remove(question)
            if answer is None:
                assert all(each.request.prompt != question.request.prompt for each in computing)
                computing.append(question)
    for question in (*waiting, *computing):
        memo.service.keep(question, None)
    assert not memo.service._cases
    assert len(memo.service._under_way) == 0


def test_only_who_computes_ends_it() -> None:
    under_way = UnderWay()
    assert under_way.begin(b"k", 1)
    assert under_way.begin(b"k", 1)
    assert not under_way.begin(b"k", 2)
    under_way.end(b"k", 2)
    assert not under_way.begin(b"k", 2)
    under_way.end(b"k", 1)
    assert under_way.begin(b"k", 2)
