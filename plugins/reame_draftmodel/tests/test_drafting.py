"""A draft model changes how fast an answer comes, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.reame_draftmodel.tests.support import Drafting, Mumbling
from reame_core.engine.calibration import measure_batches
from reame_core.engine.engine import Engine
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request, SamplingParams
from reame_core.errors import EngineError
from reame_core.plugins.api import Draft
from reame_core.testing import FakeBackend, FakeClock
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import (
    check_empty,
    engine_on,
    greedy,
    hook,
    plain,
    play,
    repeat_draws,
    run,
    sampled,
    step,
    submit,
    thorough,
    words,
)

REQUESTS = [
    greedy("the first question", 24),
    sampled("the second question", 24, seed=1),
    sampled(words(50), 24, seed=2, n=3),
    greedy(words(70), 24, sampling=SamplingParams(repeat_penalty=1.3, frequency_penalty=0.4)),
    greedy(words(33), 30, stop=("e",), logprobs=2),
]


def serving(drafting: Drafting, **options: Any) -> Engine:
    return engine_on(FakeBackend(cells=1024), drafting.hooks, **{"parallel": 4, **options})


def check_lanes(drafting: Drafting) -> None:
    """What the plugin believes to be in the draft model's memory is there."""
    backend = drafting.backend
    for lane in drafting.lanes._lanes:
        assert backend.length(lane.index) == lane.length
        cells = backend._of_range(lane.index, 0, 1 << 30)
        assert backend._tokens[cells].tolist() == lane.tokens[: lane.length].tolist()
    for index in drafting.lanes._free:
        assert backend.length(index) == 0


@pytest.mark.parametrize("every", [1, 3, 1000], ids=["never right", "mixed", "always right"])
@pytest.mark.parametrize("max_draft", [1, 4, 16])
def test_answers_equal_those_without_drafts(every: int, max_draft: int) -> None:
    # cases 43, 44, 46, 55
    drafting = Drafting(Mumbling(every, cells=1024, max_sequences=34), max_draft=max_draft)
    wanted = [plain(request) for request in REQUESTS]
    engine = serving(drafting)
    assert [a.said for a in play(engine, *REQUESTS)] == wanted
    assert [play(engine, request)[0].said for request in REQUESTS] == wanted
    check_empty(engine)
    check_lanes(drafting)
    totals = engine.records.totals["draftmodel"]
    assert totals.asked > 10
    assert (totals.accepted > 50) == (every > 1)


def test_a_model_that_is_always_right_saves_steps() -> None:
    drafting = Drafting(max_draft=8)
    engine = serving(drafting)
    [answer] = play(engine, greedy("the first question", 28, ignore_end=True))
    assert answer[0].usage.drafts == {"draftmodel": (24, 24)}
    assert engine.steps == 1 + 3


def test_all_users_share_the_batches_of_the_draft_model() -> None:
    drafting = Drafting(max_draft=4)
    requests = [greedy(f"user {number} asks", 21, ignore_end=True) for number in range(4)]
    play(serving(drafting), *requests)
    assert drafting.backend.row_counts.count(4) > 8
    alone = Drafting(max_draft=4)
    for request in requests:
        play(serving(alone), request)
    assert drafting.backend.decodes < alone.backend.decodes / 2


def test_it_keeps_in_step_without_computing_anything_twice() -> None:
    drafting = Drafting(max_draft=4)
    measured = drafting.backend.rows_computed
    request = greedy(words(60), 40, ignore_end=True)
    engine = serving(drafting)
    play(engine, request)
    held = 60 + 40
    assert drafting.backend.rows_computed - measured <= held + 2, "every token once"
    check_lanes(drafting)
    before = drafting.backend.rows_computed
    play(engine, greedy((*request.prompt, 98, 99), 12, ignore_end=True))
    assert drafting.backend.rows_computed - before < 20, "the prompt was known from the last request"


def test_another_tenants_text_is_never_reused() -> None:
    drafting = Drafting(max_draft=4)
    engine = serving(drafting)
    rows = []
    for tenant in ("a", "b", "a"):
        before = drafting.backend.rows_computed
        play(engine, greedy(words(60), 8, ignore_end=True, tenant=tenant))
        rows.append(drafting.backend.rows_computed - before)
    assert rows[0] == rows[1] > 60
    assert rows[2] < 15


def test_a_neighbour_with_the_same_beginning_shares_it() -> None:
    drafting = Drafting(max_draft=4)
    engine = serving(drafting)
    first = submit(engine, greedy(words(60), 40, ignore_end=True))
    for _ in range(4):
        step(engine)
    before = drafting.backend.rows_computed
    second = submit(engine, greedy((*words(60), 98), 40, ignore_end=True))
    for _ in range(3):
        step(engine)
    assert drafting.backend.rows_computed - before < 40
    run(engine)
    assert first.said == plain(first.request)
    assert second.said == plain(second.request)
    check_lanes(drafting)


@pytest.mark.parametrize("cells", [64, 100, 150])
def test_little_memory_for_many_users(cells: int) -> None:
    # case 52: the draft model has a smaller context
    drafting = Drafting(FakeBackend(cells=cells, max_sequences=34))
    requests = [greedy(words(20 + 9 * number, number), 30, ignore_end=True) for number in range(5)]
    engine = serving(drafting, parallel=5)
    assert [a.said for a in play(engine, *requests)] == [plain(request) for request in requests]
    check_lanes(drafting)
    assert drafting.backend.used_cells() <= cells
    assert engine.records.totals["draftmodel"].accepted > 20


@pytest.mark.parametrize("left", [1, 2, 3, 5])
def test_case_52_the_end_of_the_context(left: int) -> None:
    request = greedy(words(99 - left), None, ignore_end=True)
    for cells in (64, 99, 104, 1024):
        drafting = Drafting(FakeBackend(cells=cells, max_sequences=34))
        engine = engine_on(FakeBackend(cells=512), drafting.hooks, context_length=99)
        [answer] = play(engine, request)
        assert answer[0].reason == "length"
        assert answer[0].usage.completion == left
        assert answer.said == plain(request, context_length=99)


def test_case_56_a_draft_model_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    request = greedy("the first question", 30, ignore_end=True)
    failing = FakeBackend(cells=1024, max_sequences=34)
    drafting = Drafting(failing)
    failing._fail_on = {1, 3, 4, 6}
    engine = serving(drafting)
    [answer] = play(engine, request)
    assert answer.said == plain(request)
    assert answer[0].usage.accepted > 0
    check_lanes(drafting)
    assert "told to fail" in caplog.text


def test_a_failing_batch_forgets_what_it_may_have_damaged() -> None:
    drafting = Drafting(max_draft=4)
    engine = serving(drafting)
    play(engine, greedy("the first question", 20, ignore_end=True))
    drafting.backend._fail_on = {drafting.backend.decodes}
    play(engine, greedy("the first question and more", 20, ignore_end=True))
    check_lanes(drafting)
    service: Any = drafting.plugin._service
    drafting.backend._fail_on = {drafting.backend.decodes}
    sequence = submit(engine, greedy("x", 5)).group
    assert sequence is not None
    from reame_core.plugins.api import DraftWish

    with pytest.raises(EngineError):
        service.draft([DraftWish(sequence.sequences[0], 3)])
    assert drafting.backend.used_cells() == 0
    run(engine)


def test_a_long_prompt_is_read_in_pieces() -> None:
    clock = FakeClock(lambda rows: 10.0 * rows)
    drafting = Drafting(FakeBackend(cells=1024, max_sequences=34, clock=clock), clock=clock)
    before = len(drafting.backend.row_counts)
    request = greedy(words(120), 30, ignore_end=True)
    [answer] = play(serving(drafting), request)
    assert answer.said == plain(request)
    assert max(drafting.backend.row_counts[before:]) == 15, "150 ms at 10 ms a row"
    assert answer[0].usage.accepted > 5


class Wide(FakeBackend):
    """Has 30 more tokens, and gives them logits of ``extra``."""

    def __init__(self, extra: float, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._extra = extra

    @property
    def info(self) -> Any:
        return replace(super().info, vocabulary_size=vocabulary.SIZE + 30)

    def piece(self, token: int) -> bytes:
        return super().piece(token) if token < vocabulary.SIZE else b"?"

    def logits(self) -> Any:
        lines = super().logits()
        return np.hstack([lines, np.full((len(lines), 30), self._extra, np.float32)])


def test_a_larger_vocabulary_drafts_no_token_the_target_does_not_have() -> None:
    request = REQUESTS[0]
    drafting = Drafting(Wide(99.0, cells=1024, max_sequences=34), tokenizer="other")
    [answer] = play(serving(drafting), request)
    assert answer.said == plain(request)
    assert answer[0].usage.drafted == answer[0].usage.accepted > 15


@pytest.mark.parametrize("extra", [-99.0, 99.0])
def test_a_target_with_more_tokens_than_the_draft_model(extra: float) -> None:
    def target() -> Wide:
        return Wide(extra, cells=1024)

    sampling = SamplingParams(temperature=0.01)
    for request in (REQUESTS[0], replace(REQUESTS[0], sampling=sampling)):
        drafting = Drafting(target=target(), tokenizer="other")
        [answer] = play(engine_on(target(), drafting.hooks), request)
        if request is REQUESTS[0]:
            assert answer.said == play(engine_on(target()), request)[0].said
        assert (answer[0].usage.accepted > 15) == (extra < 0), "what it cannot read it does not go on from"


def proposed(every: int, p_min: float, sampling: SamplingParams, tokens: int) -> tuple[int, int]:
    """Tokens in the drafts for the first half of an answer, and for the second."""
    drafting = Drafting(Mumbling(every, cells=1024, max_sequences=34), p_min=p_min, max_draft=4)
    engine = serving(drafting)
    sequence = submit(engine, greedy("the first question", tokens, ignore_end=True, sampling=sampling))
    while len(sequence[0].tokens) < tokens // 2:
        step(engine)
    half = engine.records.totals["draftmodel"].proposed
    run(engine)
    return half, engine.records.totals["draftmodel"].proposed - half


SAMPLINGS = {"greedy": SamplingParams(), "drawn": SamplingParams(temperature=0.5)}


@pytest.fixture
def repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    repeat_draws(monkeypatch)


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_p_min_ends_drafts_before_a_token_is_chosen(sampling: SamplingParams) -> None:
    assert sum(proposed(1000, 0.0, sampling, 60)) > 30
    assert sum(proposed(1000, 1.0, sampling, 60)) == 0


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_a_doubtful_model_that_is_always_right_is_trusted(sampling: SamplingParams) -> None:
    """The fake model gives its best token some 10 %, and the target says it nevertheless."""
    early, late = proposed(1000, 0.5, sampling, 60)
    assert early > 15
    assert late > 20


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_a_doubtful_model_that_is_wrong_soon_ends_its_drafts(sampling: SamplingParams) -> None:
    early, late = proposed(1, 0.4, sampling, 160)
    assert 0 < early < 70
    assert late < early, "it is tried again, and less often"


def test_what_was_not_written_for_doubt_is_learned_from_as_well() -> None:
    """0.9 is more than anybody believes of a fake model at first, so nothing is written before it is seen that
    it would have been right."""
    assert proposed(1, 0.9, SamplingParams(), 60) == (0, 0)
    early, late = proposed(1000, 0.9, SamplingParams(), 200)
    assert late > early > 0


def test_drafts_are_drawn_where_answers_are_and_no_seed_is_given() -> None:
    seen: list[Draft | None] = []
    drafting = Drafting()
    compute = drafting.hooks.compute_drafts.calls[0][1]

    def watched(wishes: Any) -> Any:
        drafts = compute(wishes)
        seen.extend(drafts or ())
        return drafts

    hooks = replace(drafting.hooks, compute_drafts=hook(watched, name="draftmodel"))
    for seed, drawn in ((None, True), (4, False)):
        seen.clear()
        params = SamplingParams(temperature=0.9, top_p=0.8, seed=seed)
        engine = engine_on(FakeBackend(cells=1024), hooks)
        [answer] = play(engine, greedy("the first question", 30, ignore_end=True, sampling=params))
        assert answer[0].usage.accepted > (20 if drawn else 0), "equal distributions are always accepted"
        drafts = [draft for draft in seen if draft is not None and draft.tokens]
        assert all((draft.distributions is not None) == drawn for draft in drafts)
        if drawn:
            rows = np.concatenate([draft.distributions for draft in drafts if draft.distributions is not None])
            assert ((rows > 0).sum(axis=1) < vocabulary.SIZE).all(), "the request's top_p was not applied"
        else:
            assert answer.said == plain(answer.request)


class Priced:
    """An engine on a simulated machine: batches of the target cost ``target`` ms, those of the draft model
    ``draft`` ms."""

    def __init__(self, every: int, *, target: float = 100.0, draft: float = 10.0, **hooks: Any) -> None:
        self.clock = FakeClock(lambda rows: target + 5 * rows)
        small = FakeClock(lambda rows: draft + 0.5 * rows)

        class Small(Mumbling):
            def decode(inner, rows: Any) -> None:  # noqa: N805
                super().decode(rows)
                self.clock.now += small.milliseconds(len(rows)) / 1000

        self.drafting = Drafting(Small(every, cells=4096, max_sequences=34), clock=self.clock)
        self.hooks = replace(self.drafting.hooks, **hooks)
        self.computed = self.drafting.backend.decodes

    def run(self, *requests: Request, hooks: EngineHooks | None = None) -> float:
        """Milliseconds, drafts included."""
        backend = FakeBackend(cells=4096, max_rows=128, clock=self.clock)
        self.engine = engine_on(
            backend, hooks or self.hooks, self.clock, context_length=1024, price_drafts=True, max_draft=63
        )
        measure_batches(backend, self.engine.cost, self.clock)
        started = self.clock.now
        self.answers = play(self.engine, *requests)
        return 1000 * (self.clock.now - started)

    def gain(self, *requests: Request) -> float:
        """How many times faster than without drafts."""
        return self.run(*requests, hooks=EngineHooks()) / self.run(*requests)


LONG = greedy("tell me something long", 400, ignore_end=True)


def test_it_pays_where_the_target_is_dear() -> None:
    machine = Priced(1000)
    assert machine.gain(LONG) > 2.2
    assert machine.answers[0].said == plain(LONG, cells=2048, context_length=1024)


def test_it_pays_where_both_models_draw() -> None:
    machine = Priced(1000)
    drawn = replace(LONG, sampling=SamplingParams(temperature=0.8))
    plain_ms = machine.run(LONG, hooks=EngineHooks())
    assert plain_ms / machine.run(drawn) > 2.2
    assert machine.answers[0][0].usage.accepted == machine.answers[0][0].usage.drafted > 300


def test_users_share_what_pays() -> None:
    requests = [greedy(f"user {number} asks", 200, ignore_end=True) for number in range(4)]
    machine = Priced(1000)
    assert machine.gain(*requests) > 1.5
    assert machine.drafting.backend.row_counts.count(4) > 20


@pytest.mark.parametrize(("every", "draft"), [(1000, 200.0), (2, 50.0), (1, 30.0)])
def test_where_it_does_not_pay_it_is_off_within_100_tokens_and_costs_little(every: int, draft: float) -> None:
    machine = Priced(every, draft=draft)
    assert machine.gain(LONG) > 0.96
    batches = []
    for tokens in (100, 400):
        before = machine.drafting.backend.decodes
        machine.run(replace(LONG, max_tokens=tokens))
        batches.append(machine.drafting.backend.decodes - before)
    assert batches[1] - batches[0] <= 16, "from the 100th token on it is tried only now and then"


def test_a_long_prompt_is_not_read_for_a_trial() -> None:
    machine = Priced(1, draft=30.0)
    machine.run(greedy(words(600), 40, ignore_end=True))
    assert machine.drafting.backend.decodes == 0


def test_the_controller_chooses_between_a_draft_model_and_what_was_looked_up() -> None:
    request = greedy("the first question", 400, ignore_end=True)
    truth = plain(request, cells=1024, context_length=1024)[0][1]
    assert isinstance(truth, tuple)

    def looked_up(sequence: Any, limit: int) -> Draft | None:
        """Knows the second half of the answer."""
        said = len(sequence.tokens) - sequence.prompt_length
        return Draft(truth[said : said + limit], match_length=20) if said >= 100 else None

    machine = Priced(1000, propose_draft=hook(looked_up, name="archive"))
    machine.run(request)
    [answer] = machine.answers
    assert answer.said == plain(request, cells=1024, context_length=1024)
    assert answer[0].usage.drafts["draftmodel"][1] > 60
    assert answer[0].usage.drafts["archive"][1] > 60


@given(
    st.lists(
        st.tuples(st.integers(2, 60), st.integers(0, 3), st.integers(1, 40), st.booleans(), st.integers(0, 6)),
        min_size=1,
        max_size=8,
    ),
    st.integers(80, 400),
    st.integers(1, 5),
)
@thorough(15)
def test_any_requests_that_come_and_go(
    asked: list[tuple[int, int, int, bool, int]], cells: int, every: int
) -> None:
    drafting = Drafting(Mumbling(every, cells=cells, max_sequences=34))
    engine = serving(drafting)
    going: list[Any] = []
    for length, salt, most, random, steps in asked:
        prompt = words(length, salt)
        request: Request = sampled(prompt, most, seed=most) if random else greedy(prompt, most)
        going.append(submit(engine, request))
        for _ in range(steps):
            step(engine)
            check_lanes(drafting)
    leaving = going.pop()
    engine.cancel(leaving.group)
    run(engine)
    assert [answers.said for answers in going] == [plain(answers.request) for answers in going]
    check_empty(engine)
    check_lanes(drafting)
