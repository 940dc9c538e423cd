"""Which rows a batch holds: limits, the grid, the stall budget, and that everybody gets on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame_core.engine.backend import Rows
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import DraftRoom, Proposal
from reame_core.engine.calibration import measure_batches
from reame_core.engine.padding import Padding
from reame_core.engine.schedule import GRID, Scheduler
from reame_core.plugins.api import Draft
from reame_core.testing import FakeClock
from tests.engine.support import (
    Drafter,
    FakeBackend,
    Spied,
    engine_on,
    greedy,
    plain,
    play,
    run,
    step,
    submit,
    thorough,
    words,
)


@dataclass
class Runner:
    """As much of a sequence as the scheduler looks at."""

    known: int
    computed: int
    decoding: bool = False
    room: int = 100

    @property
    def id(self) -> int:
        return id(self)


def filling(rest: int, computed: int = 0) -> Runner:
    return Runner(computed + rest, computed)


def decoding(room: int = 100) -> Runner:
    return Runner(50, 49, decoding=True, room=room)


def scheduler(cost: dict[int, float] | None = None, **options: Any) -> Scheduler:
    learned = BatchCost()
    for rows, milliseconds in (cost or {}).items():
        learned.observe(rows, milliseconds)
    return Scheduler(learned, **{"max_rows": 64, "stall_ms": 200.0, **options})


def plan(s: Scheduler, running: list[Runner], drafted: int = 0) -> list[Any]:
    def drafts(sequences: Any, rows: int, room: DraftRoom) -> dict[int, Proposal]:
        chosen, left = {}, room.most
        for sequence in sequences:
            tokens = min(drafted, left, sequence.room - 1)
            if tokens > 0:
                chosen[sequence.id] = Proposal("test", Draft([1] * tokens))
                left -= tokens
        return chosen

    return s.plan(running, drafts, 1000)  # type: ignore[arg-type]


@st.composite
def runners(draw: st.DrawFn) -> Runner:
    if draw(st.booleans()):
        return decoding(draw(st.integers(1, 60)))
    return filling(draw(st.integers(1, 300)), draw(st.integers(0, 300)))


@thorough(400)
@given(
    st.lists(runners(), min_size=1, max_size=8),
    st.integers(1, 80),
    st.integers(1, 80),
    st.integers(0, 40),
    st.dictionaries(st.integers(1, 100), st.floats(1, 300), max_size=4),
    st.booleans(),
)
def test_every_plan_keeps_the_limits_and_gets_on(
    running: list[Runner],
    max_rows: int,
    max_outputs: int,
    drafted: int,
    cost: dict[int, float],
    whole_prompts: bool,
) -> None:
    s = scheduler(cost, max_rows=max_rows, max_outputs=max_outputs, whole_prompts=whole_prompts)
    parts = plan(s, running, drafted)
    assert sum(p.rows for p in parts) <= max_rows
    assert sum(p.drafted for p in parts) + sum(p.reaches_the_newest for p in parts) <= max_outputs
    served = running[: min(max_rows, max_outputs)]
    parts_of = {id(p.sequence): p for p in parts}
    assert len(parts_of) == len(parts)
    for p in parts:
        assert p.sequence in running
        assert p.start == p.sequence.computed
        assert p.start < p.end <= p.sequence.known
        if p.proposal:
            assert p.reaches_the_newest
            assert p.drafted < p.sequence.room
    assert all(id(r) in parts_of for r in served if r.decoding)
    prompts = [r for r in served if not r.decoding]
    if prompts:
        assert any(id(r) in parts_of for r in prompts)
        if len(prompts) < len(served):
            decoders = len(served) - len(prompts)
            alone = s.cost.estimate(decoders, decoders) or 0.0
            within = s.cost.rows_within(alone + s.stall_ms, max_rows)
            assert sum(p.rows for p in parts) <= max(within, decoders + 1)


@thorough(200)
@given(st.integers(1, 2000), st.integers(0, 2000), st.integers(1, 600))
def test_prompts_are_cut_on_the_grid(rest: int, computed: int, max_rows: int) -> None:
    [part] = plan(scheduler(max_rows=max_rows), [filling(rest, computed)])
    if rest <= max_rows:
        assert part.end == part.sequence.known
        return
    assert 3 * part.rows > 2 * max_rows, "less than a third of the rows is given up"
    grid = max(g for g in (1, 2, 4, 8, 16, 32, GRID) if part.end % g == 0)
    assert grid == GRID or part.rows + grid * 6 > max_rows
    if max_rows >= 3 * GRID:
        assert part.end % GRID == 0


def test_decode_rows_come_first_and_prompts_get_what_the_budget_leaves() -> None:
    s = scheduler({1: 40, 64: 640}, stall_ms=120)
    parts = plan(s, [filling(500), decoding(), filling(500), decoding()])
    assert [(p.sequence.decoding, p.rows) for p in parts] == [(True, 1), (True, 1), (False, 1), (False, 2)]


def test_idle_prefill_takes_all_rows() -> None:
    s = scheduler({512: 5000}, max_rows=512, stall_ms=10)
    assert [p.rows for p in plan(s, [filling(2000)])] == [512]
    assert sorted(p.rows for p in plan(s, [filling(2000), filling(2000)])) == [256, 256]


def test_a_short_prompt_gets_its_share_of_the_batch_first() -> None:
    # case 60
    parts = plan(scheduler(), [filling(1000), filling(10)])
    assert [(p.sequence.known, p.rows) for p in parts] == [(10, 10), (1000, 48)]


def test_drafts_leave_half_of_the_rows_to_prompts() -> None:
    parts = plan(scheduler({64: 50}), [decoding(), decoding(), filling(500)], drafted=60)
    assert [p.rows for p in parts[:2]] == [32, 1]
    assert parts[2].rows == 24


@pytest.mark.parametrize("max_rows", [1, 2, 3, 7])
@pytest.mark.parametrize("drafted", [0, 40])
def test_nobody_starves_when_there_are_more_sequences_than_rows(max_rows: int, drafted: int) -> None:
    """Decoders that never end, with drafts, and a prompt: as the engine turns them, all get on."""
    s = scheduler({1: 500}, max_rows=max_rows, max_outputs=max_rows)
    running = [decoding() for _ in range(5)] + [filling(40)]
    served = [0] * 6
    for turn in range(400):
        turned = running[turn % 6 :] + running[: turn % 6]
        for part in plan(s, turned, drafted):
            served[next(i for i, r in enumerate(running) if r is part.sequence)] += 1
            if part.sequence is running[5]:
                running[5].computed = part.end
        if running[5].computed == 40:
            break
    assert running[5].computed == 40
    assert min(served) > 20


def test_a_long_prompt_is_not_starved_by_short_ones_when_the_budget_is_one_row() -> None:
    s = scheduler({1: 500})
    running = [decoding(), filling(60), filling(3)]
    for turn in range(300):
        turned = running[turn % 3 :] + running[: turn % 3]
        for part in plan(s, turned):
            if not part.sequence.decoding:
                part.sequence.computed = part.end
        if running[2].computed == 3:
            running[2] = filling(3)  # the next short one
    assert running[1].computed == 60


def test_a_recurrent_prompt_stops_before_its_last_token() -> None:
    s = scheduler(whole_prompts=False)
    assert [(p.start, p.end) for p in plan(s, [filling(20)])] == [(0, 19)]
    assert [(p.start, p.end) for p in plan(s, [filling(1, 19)])] == [(19, 20)]
    assert [(p.start, p.end) for p in plan(s, [filling(1)])] == [(0, 1)]


# In an engine.


def stepping(milliseconds: Any, **options: Any) -> tuple[Any, FakeClock, list[float]]:
    clock = FakeClock(milliseconds)
    engine = engine_on(FakeBackend(cells=4096, max_rows=512, clock=clock), clock=clock, **options)
    return engine, clock, []


@pytest.mark.parametrize("stall_ms", [50.0, 58.0, 100.0, 200.0])
@pytest.mark.parametrize(
    "milliseconds",
    [
        lambda rows: 10.0 + rows,
        lambda rows: 30.0 + 2 * rows,
        lambda rows: 5.0 * rows**0.8,
        lambda rows: 40.0 if rows < 8 else 45.0 + rows,
    ],
    ids=range(4),
)
def test_a_long_prompt_keeps_within_the_stall_budget_while_another_decodes(
    stall_ms: float, milliseconds: Any
) -> None:
    # cases 59, 60
    clock = FakeClock(milliseconds)
    engine = engine_on(
        FakeBackend(cells=4096, max_rows=512, clock=clock),
        clock=clock,
        context_length=2048,
        stall_ms=stall_ms,
    )
    decoder = submit(engine, greedy(words(20), 1500, ignore_end=True))
    step(engine)
    step(engine)
    assert not decoder.done
    prompt = submit(engine, greedy(words(1500, 1), 2))
    costs = []
    while not prompt.done:
        before, tokens = clock.now, len(decoder[0].tokens)
        step(engine)
        costs.append(1000 * (clock.now - before))
        assert len(decoder[0].tokens) == tokens + 1, "the decoder was kept waiting"
    delays = [cost - milliseconds(1) for cost in costs]
    assert max(delays) <= 2 * stall_ms
    assert sum(delay > stall_ms for delay in delays) <= 3, "sizes are tried, and then known"
    # And it is no slower than the budget demands: chunks are powers of two beside the one row of the decoder.
    most = max(rows for rows in range(1, 513) if milliseconds(rows) - milliseconds(1) <= stall_ms)
    assert len(costs) < 1500 / (most / 3) + 20
    engine.cancel_all()


def test_a_busy_cost_model_from_idle_prefill_does_not_stall_the_first_decoder() -> None:
    clock = FakeClock()
    engine = engine_on(
        FakeBackend(cells=4096, max_rows=512, clock=clock), clock=clock, context_length=2048, stall_ms=100
    )
    play(engine, greedy(words(1500, 3), 1))
    decoder = submit(engine, greedy(words(20), 200, ignore_end=True))
    step(engine)
    prompt = submit(engine, greedy(words(1500, 1), 2))
    while not prompt.done:
        before = clock.now
        step(engine)
        assert 1000 * (clock.now - before) <= 200
    assert not decoder.done or len(decoder[0].tokens) == 200
    engine.cancel_all()


def test_a_short_prompt_behind_a_long_one_is_served_early() -> None:
    # case 60
    clock = FakeClock()
    engine = engine_on(
        FakeBackend(cells=8192, max_rows=512, clock=clock), clock=clock, context_length=6500, stall_ms=100
    )
    stream = submit(engine, greedy(words(20), 400, ignore_end=True))
    step(engine)
    long = submit(engine, greedy(words(6000, 1), 2))
    for _ in range(3):
        step(engine)
    short = submit(engine, greedy(words(10, 2), 3))
    before = clock.now
    while not short[0].tokens:
        step(engine)
    assert 1000 * (clock.now - before) <= 2 * 100
    assert not long[0].tokens
    run(engine)
    assert long.done
    assert stream.done


def test_prefill_in_an_engine_is_cut_on_the_grid() -> None:
    backend = Spied(cells=2048, max_rows=200)
    engine = engine_on(backend, context_length=2000)
    play(engine, greedy(words(1000), 2, ignore_end=True))
    ends = [max(rows.positions) + 1 for rows in backend.batches]
    assert ends == [192, 384, 576, 768, 960, 1000, 1001]
    # A prompt that shares an odd number of tokens comes back to the grid.
    backend.batches.clear()
    play(engine, greedy((*words(100), *words(900, 5)[1:]), 2, ignore_end=True))
    assert [max(rows.positions) + 1 for rows in backend.batches] == [256, 448, 640, 832, 999, 1000]


def test_prompts_get_on_although_drafts_would_fill_every_batch() -> None:
    drafter = Drafter()
    talker = greedy("the talker", 200, ignore_end=True)
    drafter.learn(talker)
    for max_rows in (2, 7, 16):
        engine = engine_on(FakeBackend(cells=1024, max_rows=max_rows), drafter.hooks, context_length=512)
        first = submit(engine, talker)
        step(engine)
        second = submit(engine, greedy(words(30), 3))
        while not second.done:
            assert not first.done, "the prompt had to wait for the end of the other's answer"
            step(engine)
        run(engine)
        assert first.said == plain(talker)
        assert second.said == plain(greedy(words(30), 3))


def test_a_batch_is_padded_where_a_larger_one_takes_less_time() -> None:
    clock = FakeClock(lambda rows: {1: 66, 2: 99, 3: 119, 4: 110}.get(rows, 50.0 + 30 * rows))
    backend = FakeBackend(clock=clock)
    engine = engine_on(backend, clock=clock)
    measure_batches(backend, engine.cost, clock)
    began, count = clock.now, len(backend.row_counts)
    answers = play(engine, *[greedy(text, 40, ignore_end=True) for text in ("one", "two", "three")])
    sizes = backend.row_counts[count + 2 : count + 30]
    assert set(sizes) == {4}
    assert 1000 * (clock.now - began) < 40 * 119
    assert [a[0].said for a in answers] == [
        plain(greedy(text, 40, ignore_end=True))[0] for text in ("one", "two", "three")
    ]


@pytest.mark.parametrize(("four", "free", "rows"), [(50.0, 4, 4), (50.0, 3, 3), (99.0, 4, 3), (101.0, 4, 3)])
def test_no_padding_where_it_does_not_pay_or_does_not_fit(four: float, free: int, rows: int) -> None:
    cost = BatchCost()
    cost.remember({3.0: 100.0, 4.0: four})
    batch = Rows()
    batch.add(0, 7, [1, 2, 3], logits_from=2)
    backend = FakeBackend()
    Padding(backend, cost, None).add(batch, free)
    assert len(batch) == rows
    assert batch.outputs == 1
    assert batch.sequences == [0, 0, 0, *[backend.info.scratch] * (rows - 3)]


def test_a_prompt_ends_in_a_small_batch_where_those_are_bit_identical() -> None:
    ends = scheduler({256: 10.0}, max_rows=512, most_with_drafts=63, ends_in_small_batches=True)

    def planned(*running: Runner) -> list[tuple[int, int]]:
        return sorted((part.start, part.end) for part in plan(ends, list(running)))

    assert planned(filling(300)) == [(0, 299)]
    assert planned(filling(1, computed=299)) == [(299, 300)]
    assert planned(filling(63)) == [(0, 63)], "small as it is"
    assert planned(filling(40), filling(41)) == [(0, 39), (0, 40)], "together they are many"
    assert planned(filling(1), filling(300)) == [(0, 1), (0, 299)], "everybody gets on"
    assert planned(decoding(), filling(100)) == [(0, 99), (49, 50)]


@pytest.mark.parametrize("users", [1, 3])
def test_where_prompts_end_changes_no_answer(users: int) -> None:
    prompts = [words(100 + 30 * user) for user in range(users)]
    engine = engine_on(ends_in_small_batches=True, draft_rows=8, parallel=users)
    got = play(engine, *map(greedy, prompts))
    assert [each.said for each in got] == [plain(greedy(prompt)) for prompt in prompts]
