"""The controller: drafts get rows where that pays by the clock, and only there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import Proposal
from reame_core.engine.calibration import measure_batches
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.noise import CEILING, KernelNoise, find_noise
from reame_core.engine.odds import Kind, SourceOdds, Tally, Track, bucket, expected
from reame_core.engine.request import SamplingParams
from reame_core.engine.sampling import Sampler
from reame_core.engine.speculation import Speculation
from reame_core.plugins.api import Draft
from reame_core.testing import FakeBackend, FakeClock
from tests.engine.support import engine_on, greedy, play

LENGTH = 200
REQUEST = greedy("tell me something long", LENGTH, ignore_end=True)


def flat(rows: int) -> float:
    """More rows cost next to nothing, as on a processor that waits for memory."""
    return 50.0 + rows


def steep(rows: int) -> float:
    """Every row costs as much as a batch of its own."""
    return 50.0 * rows


class Setting:
    """An engine on a simulated machine, with sources that know the answer ``REQUEST`` will get."""

    def __init__(self, cost: Callable[[int], float], **options: Any) -> None:
        self.clock = FakeClock(cost)
        self.backend = FakeBackend(cells=2048, max_rows=256, clock=self.clock)
        self.options = {"context_length": 1024, "price_drafts": True, "max_draft": 63} | options
        self.truth = self._plain().tokens
        self.seconds = 0.0

    def _plain(self) -> Any:
        return play(engine_on(FakeBackend(cells=2048), context_length=1024), REQUEST)[0][0]

    def run(self, *sources: Any, requests: int = 1) -> list[Any]:
        hooks = EngineHooks(propose_draft=GuardedHook(tuple((f"s{i}", s) for i, s in enumerate(sources))))
        self.backend.clear()
        self.engine = engine_on(self.backend, hooks, self.clock, **self.options)
        measure_batches(self.backend, self.engine.cost, self.clock)
        began = self.clock.now
        answers = [choices[0] for choices in play(self.engine, *[REQUEST] * requests)]
        self.seconds = self.clock.now - began
        assert all(answer.tokens == self.truth for answer in answers), "speculation changed the answer"
        return answers

    def knowing(self, right: Callable[[int], bool] = lambda at: True) -> Callable[[Any, int], Draft]:
        """A source whose token at place ``at`` of the answer is what ``right`` says."""

        def propose(sequence: Any, limit: int) -> Draft:
            done = len(sequence.tokens) - sequence.prompt_length
            guess = [
                token if right(done + i) else (token + 1) % 100
                for i, token in enumerate(self.truth[done : done + limit])
            ]
            return Draft(guess, match_length=8) if guess else Draft([1], match_length=8)

        return propose


def gain(
    cost: Callable[[int], float], *make: Callable[[Setting], Any], requests: int = 1, **options: Any
) -> float:
    """How many times faster with the sources than without."""
    setting = Setting(cost, **options)
    setting.run(requests=requests)
    plain = setting.seconds
    setting.run(*[each(setting) for each in make], requests=requests)
    return plain / setting.seconds


def test_a_known_answer_is_replayed_with_growing_windows() -> None:
    setting = Setting(flat)
    setting.run(setting.knowing())
    assert max(setting.backend.row_counts[-setting.engine.steps :]) > 48, (
        "windows grow to what the curve allows"
    )
    assert setting.engine.steps < 20
    assert gain(flat, lambda s: s.knowing()) > 5


def test_drafts_that_are_never_right_cost_next_to_nothing() -> None:
    assert gain(flat, lambda s: s.knowing(lambda at: False)) > 0.97


def test_where_rows_cost_as_much_as_batches_nothing_is_drafted() -> None:
    setting = Setting(steep)
    answer = setting.run(setting.knowing())[0]
    assert answer.usage.drafted <= 4
    assert gain(steep, lambda s: s.knowing()) > 0.98


def test_a_source_that_becomes_right_is_used_again() -> None:
    setting = Setting(flat)
    setting.run(setting.knowing(lambda at: at >= 100))
    late = [count for count in setting.backend.row_counts[-setting.engine.steps :] if count > 16]
    assert late, "it was never trusted again"
    assert gain(flat, lambda s: s.knowing(lambda at: at >= 100)) > 1.5


def test_one_wrong_token_in_ten_still_pays() -> None:
    assert gain(flat, lambda s: s.knowing(lambda at: at % 10 != 9)) > 2.5


def test_the_better_source_is_chosen_whatever_the_order() -> None:
    for make in ((False, True), (True, False)):
        setting = Setting(flat)
        sources = [setting.knowing(lambda at, good=good: good or at % 3 == 0) for good in make]
        answer = setting.run(*sources)[0]
        good = f"s{make.index(True)}"
        assert answer.usage.drafts[good][1] > 150


def test_a_source_that_takes_long_to_ask_is_left_alone_where_it_does_not_pay() -> None:
    setting = Setting(flat)
    calls = []

    def slow(sequence: Any, limit: int) -> Draft:
        calls.append(1)
        setting.clock.now += 0.06
        return setting.knowing(lambda at: at % 4 == 0)(sequence, min(limit, 4))

    setting.run(slow)
    assert len(calls) < 25
    plain = Setting(flat)
    plain.run()
    assert plain.seconds / setting.seconds > 0.85


def test_a_source_that_takes_a_moment_to_ask_is_heard_when_it_knows_something() -> None:
    """Ten tokens of each twenty follow from a rule; what it guesses of the others is wrong."""
    setting = Setting(lambda rows: 40.0 + 10.0 * rows)
    knowing, guessing = setting.knowing(), setting.knowing(lambda at: False)

    def propose(sequence: Any, limit: int) -> Draft:
        setting.clock.now += 0.0011
        at = (len(sequence.tokens) - sequence.prompt_length) % 20
        if at >= 10:
            return replace(guessing(sequence, min(limit, 3)), match_length=2)
        known = knowing(sequence, min(limit, 10 - at))
        return replace(known, match_length=None, confidence=1.0, label="rule")

    [answer] = setting.run(propose)
    drafted, accepted = answer.usage.drafts["s0"]
    assert accepted > LENGTH / 3
    assert drafted - accepted < LENGTH / 30


@pytest.mark.parametrize("late", [1, 5])
def test_reading_a_prompt_is_not_what_asking_takes(late: int) -> None:
    """Nor is it where a source reads it only later."""
    setting = Setting(flat)
    knowing = setting.knowing(lambda at: at >= 40)
    begun: list[int] = []

    def propose(sequence: Any, limit: int) -> Draft:
        begun.append(1)
        setting.clock.now += 10.0 if len(begun) == late else 0.0001
        return knowing(sequence, limit)

    setting.run(propose)
    assert setting.engine.steps < 80, "it rested for its first moment"


def test_a_known_answer_starts_with_the_prompt_s_own_batch() -> None:
    setting = Setting(flat)
    setting.run(setting.knowing())
    prompt = len(REQUEST.prompt)
    first = setting.backend.row_counts[-setting.engine.steps]
    assert first > prompt


def test_four_users_with_known_answers() -> None:
    assert gain(flat, lambda s: s.knowing(), requests=4) > 2.5


def test_a_user_without_drafts_does_not_wait_for_those_of_others() -> None:
    """Where somebody has no draft, the others' do not make a batch longer by more than the stall budget."""
    setting = Setting(lambda rows: 10.0 * rows, stall_ms=120.0)
    other = greedy("another question", 40, ignore_end=True)
    knowing = setting.knowing()

    def propose(sequence: Any, limit: int) -> Draft | None:
        return knowing(sequence, limit) if sequence.request is REQUEST else None

    hooks = EngineHooks(propose_draft=GuardedHook((("s", propose),)))
    engine = engine_on(setting.backend, hooks, setting.clock, **(setting.options | {"price_drafts": False}))
    measure_batches(setting.backend, engine.cost, setting.clock)
    before = len(setting.backend.row_counts)
    play(engine, REQUEST, other)
    both = setting.backend.row_counts[before + 3 : before + 30]  # the prompts are in memory by then
    assert max(both) <= 2 + 12


@pytest.mark.parametrize("off", [{"max_draft": 0}, {}])
def test_switched_off(off: dict[str, int]) -> None:
    setting = Setting(flat, **off)
    asked = []

    def propose(sequence: Any, limit: int) -> None:
        asked.append(limit)

    request = REQUEST if off else greedy("tell me something long", LENGTH, ignore_end=True, speculate=False)
    hooks = EngineHooks(propose_draft=GuardedHook((("s", propose),)))
    play(engine_on(setting.backend, hooks, setting.clock, **setting.options), request)
    assert asked == []


def test_nothing_is_kept_of_sequences_that_have_ended() -> None:
    setting = Setting(flat)
    setting.run(setting.knowing(), requests=3)
    assert setting.engine.records.tracks == {}
    totals = setting.engine.records.totals["s0"]
    assert 0 < totals.accepted <= totals.tested <= totals.drafted <= totals.proposed


# Odds.


def test_unknown_sources_are_believed_a_little_and_experience_counts() -> None:
    odds = SourceOdds()
    kind = bucket(Draft([1], match_length=8))
    assert odds.chance(kind) == pytest.approx(0.6)
    for _ in range(30):
        odds.observe(kind, 0, rejected=True)
    assert odds.chance(kind) < 0.1
    other = bucket(Draft([1], match_length=2))
    assert odds.chance(other) == pytest.approx(0.6), "other lengths of match are judged apart"
    other = bucket(Draft([1], match_length=8, label="lists"))
    assert odds.chance(other) == pytest.approx(0.6), "and so is what was made in another way"
    drawn = bucket(Draft([1], match_length=2), sampled=True)
    assert odds.chance(drawn) == pytest.approx(0.4), "what is drawn is met less often, and judged apart"
    track = Track()
    track.observe(kind, 0, rejected=True)
    assert track.chance(other, 0.6) == pytest.approx(0.6), "in each sequence too"


def test_what_is_known_by_a_long_match_is_believed_sooner() -> None:
    odds = SourceOdds()
    chances = [
        odds.chance(bucket(Draft([1], match_length=length, confidence=confidence)))
        for length, confidence in ((31, 1.0), (32, 0.6), (32, 0.9))
    ]
    assert chances == pytest.approx([0.6, 0.75, 0.95])


def test_what_follows_from_a_rule_is_believed_at_once() -> None:
    odds = SourceOdds()
    rule, guess = bucket(Draft([1], confidence=1.0)), bucket(Draft([1], confidence=0.9))
    assert (odds.chance(rule), odds.chance(guess)) == pytest.approx((0.9, 0.6))
    odds.observe(rule, 0, rejected=True)
    assert odds.chance(rule) < 0.75


def test_a_sequence_s_late_record_soon_outweighs_the_general_opinion() -> None:
    track = Track()
    kind = Kind(match=4)
    assert track.chance(kind, 0.3) == 0.3
    track.observe(kind, 8, rejected=False)
    track.observe(kind, 16, rejected=False)
    assert track.chance(kind, 0.3) > 0.85
    for _ in range(12):
        track.observe(kind, 0, rejected=True)
    assert track.chance(kind, 0.3) < 0.5


def test_tallies_forget() -> None:
    tally = Tally(memory=0.5)
    tally.observe(4, rejected=True)
    tally.observe(0, rejected=True)
    assert (tally.accepted, tally.tested) == (2.0, 3.5)


def test_long_drafts_that_were_right_do_not_outweigh_the_first_that_are_wrong() -> None:
    track, kind = Track(), Kind()
    for _ in range(10):
        track.observe(kind, 60, rejected=False)
    assert track.chance(kind, 0.9) > 0.98
    for _ in range(3):
        track.observe(kind, 0, rejected=True)
    assert track.chance(kind, 0.9) < 0.93


def test_what_a_source_believes_of_tokens_it_drew_does_not_decide_about_them() -> None:
    """Drafts that are only used when a likely token was drawn would make likely tokens more frequent."""
    drawn = Draft([1], [0.2], np.full((1, 5), 0.2, np.float32), confidence=0.9)
    assert bucket(drawn) == bucket(replace(drawn, confidence=0.1)) == bucket(replace(drawn, confidence=None))
    assert bucket(Draft([1], confidence=0.9)) != bucket(Draft([1], confidence=0.1))


def test_chances_of_tokens_fall_with_their_place() -> None:
    assert expected([0.5, 0.5, 0.25]) == [0.5, 0.25, 0.0625]


# The noise floor.


class Noisy:
    """A backend whose logits are moved by the number of rows, as those of real kernels are."""

    def __init__(self, backend: FakeBackend, size: float, rows: int = 8) -> None:
        self._from = rows
        self._backend = backend
        self._size = size
        self.info = backend.info
        self.copy, self.truncate, self.clear = backend.copy, backend.truncate, backend.clear

    def decode(self, rows: Any) -> None:
        self._backend.decode(rows)
        self._rows = len(rows)

    def logits(self) -> Any:
        lines = self._backend.logits().copy()
        lines[:, ::2] += self._size * (self._rows >= self._from)
        return lines


def test_the_noise_floor_is_what_kernels_disagree_by_up_to_a_ceiling() -> None:
    sample = list(range(97, 120))

    def noise(size: float, rows: int = 8) -> KernelNoise:
        return find_noise(Noisy(FakeBackend(), size, rows), sample)  # type: ignore[arg-type]

    assert noise(0.0) == KernelNoise(0.0, small_agree=True)
    assert noise(0.1) == KernelNoise(pytest.approx(0.1, abs=1e-5), small_agree=False)
    assert noise(5.0) == KernelNoise(CEILING, small_agree=False)
    # Where only large batches differ drafts keep to small ones. What was said behind a prompt's large batch, or
    # beside somebody's long prompt, is still tolerated.
    assert noise(0.1, rows=64) == KernelNoise(pytest.approx(0.1, abs=1e-5), small_agree=True)


def test_greedy_takes_a_drafted_token_that_ties_and_no_other() -> None:
    logits = np.array([1.0, 3.0, 2.9, 0.0], np.float32)
    tolerant = Sampler(SamplingParams(), (), noise_floor=0.2)
    assert [tolerant.confirm(logits, drafted) for drafted in (0, 1, 2, 3)] == [1, 1, 2, 1]
    strict = Sampler(SamplingParams(), ())
    assert [strict.confirm(logits, drafted) for drafted in (0, 1, 2, 3)] == [1, 1, 1, 1]
    sampled = SamplingParams(temperature=1.0, seed=3)
    one, other = Sampler(sampled, (), noise_floor=9.0), Sampler(sampled, ())
    assert [one.confirm(logits, 3) for _ in range(20)] == [other.choose(logits) for _ in range(20)]


@pytest.mark.parametrize("floor", [0.0, 9e9])
def test_a_tie_behind_a_cut_draft_is_taken_too(floor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a known answer is cut must not decide which of two equal tokens it goes on with."""
    best = Setting(flat).truth[:4]
    other = next(token for token in range(97, 123) if token != best[3])

    def known(sequence: Any, limit: int) -> Draft | None:
        return Draft([*best[:3], other]) if len(sequence.tokens) == sequence.prompt_length else None

    def cut(self: Speculation, *given: Any) -> dict[int, Proposal]:
        return {number: proposal.cut(3) for number, proposal in choose(self, *given).items()}

    choose = Speculation.choose
    monkeypatch.setattr(Speculation, "choose", cut)
    hooks = EngineHooks(propose_draft=GuardedHook((("s", known),)))
    engine = engine_on(FakeBackend(), hooks, noise_floor=floor, max_draft=63)
    [answer] = play(engine, replace(REQUEST, max_tokens=6))[0]
    assert answer.tokens[:4] == [*best[:3], other if floor else best[3]]
    assert answer.usage.accepted == 3


def test_measured_costs_are_those_of_the_machine() -> None:
    clock = FakeClock(flat)
    backend = FakeBackend(clock=clock)
    cost = BatchCost()
    measure_batches(backend, cost, clock)
    assert cost.estimate(1) == pytest.approx(51)
    assert cost.estimate(64) == pytest.approx(114)
    assert backend.used_cells() == 0
    again = BatchCost()
    again.remember({float(str(rows)): ms for rows, ms in cost.measured().items()})
    assert again.estimate(16) == cost.estimate(16)


def test_usage_tells_what_became_of_drafts() -> None:
    setting = Setting(flat)
    answer = setting.run(setting.knowing())[0]
    assert answer.usage.completion == LENGTH
    assert answer.usage.drafts["s0"] == (answer.usage.drafted, answer.usage.accepted)
