"""Drafts that cost time of their own: asked for where that pays, tried rarely elsewhere, verified always."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reame_core.engine.calibration import measure_batches
from reame_core.engine.computed_drafts import FIRST_TRIALS
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import SamplingParams
from reame_core.plugins.api import Draft, DraftPrice
from reame_core.testing import FakeBackend, FakeClock
from tests.engine.support import Drafter, engine_on, greedy, hook, plain, play, submit, words

REQUEST = greedy("tell me something long", 200, ignore_end=True)


class Computer:
    """A source that knows the answers, where ``right`` says so, at ``ms`` milliseconds for each token."""

    def __init__(self, clock: FakeClock, ms: float, right: Callable[[int], bool] = lambda at: True) -> None:
        self.clock = clock
        self.ms = ms
        self.right = right
        self.catch_up = 0.0
        self.truths = Drafter()
        self.asked: list[list[Any]] = []
        self.places: list[int] = []
        """How many tokens of the first answer there were each time."""
        self.spent = 0.0

    @property
    def hooks(self) -> EngineHooks:
        return EngineHooks(
            price_drafts=hook(self.price, name="small"), compute_drafts=hook(self.compute, name="small")
        )

    def price(self, wishes: Any) -> DraftPrice | None:
        return DraftPrice(self.ms, self.catch_up)

    def compute(self, wishes: Any) -> list[Draft | None] | None:
        self.note(wishes)
        drafts = [self._draft(wish) for wish in wishes]
        taken = self.ms * max(len(draft.tokens) for draft in drafts)
        self.clock.now += taken / 1000
        self.spent += taken
        return list(drafts)

    def note(self, wishes: Any) -> None:
        self.asked.append([(wish.sequence.id, wish.limit) for wish in wishes])
        self.places.append(len(wishes[0].sequence.tokens) - wishes[0].sequence.prompt_length)

    def _draft(self, wish: Any) -> Draft:
        sequence = wish.sequence
        said = len(sequence.tokens) - sequence.prompt_length
        truth = self.truths.answers[sequence.request.prompt, 0][said : said + wish.limit]
        return Draft([t if self.right(said + i) else (t + 1) % 100 for i, t in enumerate(truth)])


class Machine:
    """Batches of k rows cost ``100 + 5 * k`` ms on it."""

    def __init__(self, ms: float, right: Callable[[int], bool] = lambda at: True) -> None:
        self.clock = FakeClock(lambda rows: 100.0 + 5 * rows)
        self.computer = Computer(self.clock, ms, right)

    def run(self, *requests: Any, hooks: EngineHooks | None = None, **options: Any) -> float:
        """Milliseconds."""
        for request in requests:
            self.computer.truths.learn(request, context_length=512)
        backend = FakeBackend(cells=2048, max_rows=128, clock=self.clock)
        options = {"context_length": 512, "price_drafts": True, "max_draft": 63} | options
        self.engine = engine_on(backend, hooks or self.computer.hooks, self.clock, **options)
        measure_batches(backend, self.engine.cost, self.clock)
        started = self.clock.now
        self.answers = [choices[0] for choices in play(self.engine, *requests)]
        for request, answer in zip(requests, self.answers, strict=True):
            assert answer.said == plain(request, cells=2048, context_length=512)[0]
        return 1000 * (self.clock.now - started)

    def gain(self, *requests: Any) -> float:
        return self.run(*requests, hooks=EngineHooks()) / self.run(*requests)


@pytest.mark.parametrize(("ms", "least"), [(5.0, 3.0), (40.0, 1.5), (60.0, 1.2)])
def test_hook_compute_drafts_is_asked_where_that_pays(ms: float, least: float) -> None:
    machine = Machine(ms)
    assert machine.gain(REQUEST) > least


def test_hook_price_drafts_too_high_is_nearly_never_paid() -> None:
    machine = Machine(150.0)
    assert machine.gain(REQUEST) > 0.94
    assert machine.computer.spent <= (FIRST_TRIALS + 4) * 105 + 0.01 * 200 * 105
    assert machine.answers[0].usage.drafted == 0, "what is tried gets no rows"


def test_a_source_that_is_never_right_is_off_soon() -> None:
    machine = Machine(10.0, lambda at: False)
    assert machine.gain(REQUEST) > 0.95


def test_a_source_that_becomes_right_is_found_by_trying() -> None:
    machine = Machine(5.0, lambda at: at > 60)
    machine.run(REQUEST)
    assert machine.answers[0].usage.drafts["small"][1] > 40


BATCHES = {1: 100, 2: 164, 4: 250, 8: 485, 16: 704, 32: 1126, 48: 1590, 64: 2120}
"""Milliseconds by rows, as they were measured of a 0.5B with many layers more."""


def dear(rows: int) -> float:
    return float(np.interp(rows, list(BATCHES), list(BATCHES.values()))) * max(1.0, rows / 64)


def best_gain(ms: float, users: int) -> float:
    """What perfect drafts at ``ms`` a token can gain at most where batches cost as much as ``dear`` ones."""
    rates = (users * size / (dear(users * size) + ms * (size - 1)) for size in range(1, 1 + 64 // users))
    return max(rates) / (users / dear(users))


@pytest.mark.parametrize("users", [1, 2, 4])
@pytest.mark.parametrize("ms", [3.0, 7.0, 14.0])
def test_perfect_drafts_gain_nine_tenths_of_what_batches_allow(ms: float, users: int) -> None:
    requests = [greedy(f"user {number} asks", 400, ignore_end=True) for number in range(users)]
    machine = Machine(ms)
    machine.clock.milliseconds = dear
    assert machine.gain(*requests) >= 0.9 * best_gain(ms, users)


@pytest.mark.parametrize("wrong", [1, 2, 3])
def test_poor_drafts_are_off_within_100_tokens_and_cost_little(wrong: int) -> None:
    machine = Machine(7.0, lambda at: at % wrong != 0)
    machine.clock.milliseconds = dear
    assert machine.gain(greedy("tell me something long", 400, ignore_end=True)) > 0.96
    assert sum(place >= 100 for place in machine.computer.places) <= 8, "from then on it is only tried"


def test_drafts_that_turn_bad_shrink_at_once() -> None:
    machine = Machine(7.0, lambda at: at < 200)
    machine.clock.milliseconds = dear
    machine.run(greedy("tell me something long", 400, ignore_end=True))
    limits = [limit for [(_, limit)] in machine.computer.asked]
    turned = next(index for index, place in enumerate(machine.computer.places) if place >= 200)
    assert max(limits[:turned]) >= 31
    assert max(limits[turned + 2 :]) <= 4


class Reader(Computer):
    """Has to read for so many ``catch_up`` ms first, 100 of them at a time, and gets on with it if ``able``."""

    able = True

    def compute(self, wishes: Any) -> list[Draft | None] | None:
        if self.catch_up <= 0:
            return super().compute(wishes)
        self.note(wishes)
        self.clock.now += 0.1
        self.spent += 100
        self.catch_up -= 100 if self.able else 0
        return [None] * len(wishes)


@pytest.mark.parametrize("able", [True, False])
def test_a_text_that_was_begun_is_read_to_its_end_as_long_as_that_gets_on(able: bool) -> None:
    machine = Machine(7.0)
    machine.clock.milliseconds = dear
    machine.computer = Reader(machine.clock, 7.0)
    machine.computer.catch_up, machine.computer.able = 800.0, able
    request = greedy("tell me something long", 400, ignore_end=True)
    if able:
        assert machine.gain(request) > 1.9
        assert machine.computer.places[:9] == list(range(1, 10)), "step after step"
    else:
        assert machine.gain(request) > 0.96


def test_a_long_prompt_has_to_be_worth_reading() -> None:
    machine = Machine(5.0)
    machine.computer.catch_up = 60_000.0
    machine.run(REQUEST)
    assert machine.computer.asked == []


def test_all_users_are_asked_for_at_once() -> None:
    requests = [greedy(f"user {number} asks", 80, ignore_end=True) for number in range(4)]
    machine = Machine(5.0)
    assert machine.gain(*requests) > 1.5
    assert sum(len(wishes) == 4 for wishes in machine.computer.asked) > 3
    assert all(sum(limit for _, limit in wishes) <= 60 or len(wishes) == 1 for wishes in machine.computer.asked)


def test_nobody_is_asked_where_drafts_are_off() -> None:
    machine = Machine(5.0)
    machine.run(REQUEST, max_draft=0)
    machine.run(greedy("tell me something long", 50, speculate=False, ignore_end=True))
    assert machine.computer.asked == []


JUNK: list[Any] = [
    "text",
    7,
    [],
    [Draft([1]), Draft([2])],
    [Draft([-1])],
    [Draft(["x"])],  # type: ignore[list-item]
    [7],
    {},
]


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_hook_compute_drafts_junk_changes_nothing(junk: Any, caplog: pytest.LogCaptureFixture) -> None:
    hooks = EngineHooks(
        price_drafts=hook(lambda wishes: DraftPrice(1.0), name="small"),
        compute_drafts=hook(lambda wishes: junk, name="small"),
    )
    request = greedy("the first question", 12)
    [answer] = play(engine_on(hooks=hooks), request)
    assert answer.said == plain(request)
    assert "small" in caplog.text


@pytest.mark.parametrize(
    "price",
    ["cheap", 3.0, DraftPrice(0.0), DraftPrice(float("nan")), DraftPrice(1.0, -1.0), DraftPrice(1.0, 0, 0)],
)
def test_hook_price_drafts_junk_is_no_price(price: Any, caplog: pytest.LogCaptureFixture) -> None:
    asked: list[Any] = []
    hooks = EngineHooks(
        price_drafts=hook(lambda wishes: price, name="small"), compute_drafts=hook(asked.append, name="small")
    )
    request = greedy("the first question", 12)
    [answer] = play(engine_on(hooks=hooks), request)
    assert answer.said == plain(request)
    assert asked == []
    assert "no price" in caplog.text


def test_hook_compute_drafts_that_raises_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    def compute(wishes: Any) -> None:
        raise RuntimeError("no luck")

    hooks = EngineHooks(
        price_drafts=hook(lambda wishes: DraftPrice(1.0), name="small"),
        compute_drafts=hook(compute, name="small"),
    )
    request = greedy("the first question", 12)
    assert play(engine_on(hooks=hooks), request)[0].said == plain(request)
    assert "no luck" in caplog.text


def test_an_empty_draft_says_unsure_and_none_says_not_now() -> None:
    """Both get no rows; the first teaches how long drafts are, the second nothing."""
    for draft, drafted in ((Draft([]), True), (None, False)):
        hooks = EngineHooks(
            price_drafts=hook(lambda wishes: DraftPrice(1.0), name="small"),
            compute_drafts=hook(lambda wishes, draft=draft: [draft] * len(wishes), name="small"),
        )
        engine = engine_on(hooks=hooks)
        [answer] = play(engine, greedy("the first question", 12))
        assert answer[0].usage.drafted == 0
        tally = engine.speculation.computed._lengths["small"]
        assert (tally.tested > 0) == drafted


def test_a_chooser_for_drafts_shares_the_state_and_not_the_random_numbers() -> None:
    params = SamplingParams(temperature=1.0, presence_penalty=2.0, seed=3)
    engine = engine_on()
    group = submit(engine, greedy(words(20), 30, sampling=params)).group
    assert group is not None
    sequence = group.sequences[0]
    for _ in range(10):
        engine.step()
    logits = np.zeros(270, np.float32)
    wanted = sequence.sampler.probabilities(logits)
    assert len(set(wanted.tolist())) == 2, "what was said is penalised"
    draws = []
    for _ in range(3):
        chooser = sequence.chooser()
        assert chooser.probabilities(logits).tolist() == wanted.tolist()
        draws.append([chooser.draw(wanted) for _ in range(20)])
        chooser.accept(5)
    assert draws[0] != draws[1] != draws[2]
    assert sequence.sampler.probabilities(logits).tolist() == wanted.tolist()
    engine.cancel_all()


def test_seeds_and_constraints_forbid_drawing() -> None:
    drawn: list[bool] = []

    def compute(wishes: Any) -> None:
        drawn.extend(wish.drawn for wish in wishes)

    hooks = EngineHooks(
        price_drafts=hook(lambda wishes: DraftPrice(1.0), name="small"),
        compute_drafts=hook(compute, name="small"),
    )
    for params in (
        SamplingParams(temperature=1.0),
        SamplingParams(temperature=1.0, seed=1),
        SamplingParams(repeat_penalty=1.1),
    ):
        play(engine_on(hooks=hooks), greedy("the first question", 3, sampling=params, ignore_end=True))
    assert set(drawn[:1]) == {True}
    assert drawn.count(True) == len(drawn) / 3


def test_a_dear_model_s_drafts_are_not_cut_to_the_stall_budget_while_nobody_else_waits() -> None:
    machine = Machine(5.0)
    machine.clock.milliseconds = lambda rows: 300.0 + 5 * rows
    assert machine.gain(REQUEST) > 3
    assert max(limit for wishes in machine.computer.asked for _, limit in wishes) > 8
