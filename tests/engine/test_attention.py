"""What batches attend to has a price of its own: learned, and used for chunks, drafts and padding."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame_core.engine.attention import NOTHING, TILE, Attended, attended
from reame_core.engine.backend import Rows
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import Bid, Proposal, grant
from reame_core.engine.calibration import measure_batches
from reame_core.engine.exactness import ExactShapes
from reame_core.engine.odds import expected
from reame_core.engine.padding import Padding
from reame_core.plugins.api import Draft
from reame_core.testing import AttentionModel, FakeBackend, FakeClock
from tests.engine.support import Spied, engine_on, greedy, plain, play, step, submit, thorough, words

ROW, TILED = 0.005, 0.001
"""Milliseconds of a pair: nearly what a 0.5B model was measured to take."""
MACHINE = AttentionModel(ROW, TILED)


def rows_only(rows: int) -> float:
    """As where matrices are multiplied in large blocks: more rows cost little."""
    return 40.0 + 0.5 * rows


def truth(rows: int, context: int) -> float:
    return rows_only(rows) + MACHINE([(rows, context)])


def calibrated(backend: FakeBackend | None = None) -> BatchCost:
    clock = FakeClock(rows_only, MACHINE)
    backend = backend or FakeBackend(cells=1024)
    backend.clock = clock
    cost = BatchCost()
    measure_batches(backend, cost, clock)
    return cost


def priced(cost: BatchCost, rows: int, context: int) -> float:
    return cost.estimate(rows, attended=attended([(rows, context)])) or 0.0


def test_a_batch_attends_row_by_row_or_in_whole_tiles() -> None:
    assert attended([]) == NOTHING
    both = attended([(3, 100), (40, 10)])
    assert both == Attended(700, 64 * 110)
    assert (both.pairs(43), both.pairs(63), both.pairs(64)) == (700, 700, 64 * 110)
    assert attended([(65, 10)]).by_tile == 1280, "a row more than a tile is another tile"


def test_attention_is_measured_before_the_first_request() -> None:
    cost = calibrated()
    assert cost.attention == pytest.approx((ROW, TILED), rel=0.01)
    assert cost.measured() == pytest.approx({rows: rows_only(int(rows)) for rows in cost.measured()}, rel=0.01)
    for rows in (1, 8, 32, 64):
        assert priced(cost, rows, 3000) == pytest.approx(truth(rows, 3000), rel=0.03)


@pytest.mark.parametrize("cells", [8, 63, 100, 127, 130, 400])
def test_attention_is_measured_in_as_much_memory_as_there_is(cells: int) -> None:
    backend = FakeBackend(cells=cells)
    few, many = calibrated(backend).attention
    assert few == pytest.approx(ROW if cells >= 63 + 64 + 63 else 0)
    assert many == pytest.approx(TILED if cells >= 2 * (63 + 64) else 0)
    assert backend.used_cells() == 0


def test_attention_costs_nothing_before_it_is_measured() -> None:
    cost = BatchCost()
    for _ in range(20):
        cost.observe(8, 90.0, attended=attended([(8, 1000)]))
    assert cost.attention == (0.0, 0.0)
    assert priced(cost, 8, 0) == priced(cost, 8, 4000) == 90.0
    assert cost.cheaper_size(8, 512, attended([(8, 4000)])) == 8


def test_attention_is_learned_from_batches_of_one_size() -> None:
    cost = BatchCost()
    generator = random.Random(1)
    for _ in range(300):
        rows = generator.choice([1, 5, 20, 22, 40, 63, 64, 100, 128])
        context = generator.randrange(3000)
        noise = generator.uniform(0.93, 1.07)
        cost.observe(rows, truth(rows, context) * noise, attended=attended([(rows, context)]))
    few, many = cost.attention
    assert few == pytest.approx(ROW, rel=0.15)
    assert many == pytest.approx(TILED, rel=0.25)
    for rows in (1, 63, 64):
        assert priced(cost, rows, 100) == pytest.approx(truth(rows, 100), rel=0.25)
        assert priced(cost, rows, 2500) == pytest.approx(truth(rows, 2500), rel=0.25)


def test_the_cost_of_rows_does_not_drift_with_the_context() -> None:
    cost = calibrated()
    before = cost.measured()
    for context in range(1000, 3000, 10):
        for rows in (1, 16, 64):
            cost.observe(rows, truth(rows, context), attended=attended([(rows, context)]))
    assert cost.measured() == pytest.approx(before, rel=0.05)


def test_one_disturbed_batch_teaches_little() -> None:
    cost = calibrated()
    before = priced(cost, 32, 1500)
    cost.observe(32, 50 * truth(32, 800), attended=attended([(32, 800)]))
    few, _ = cost.attention
    assert few < 2 * ROW
    for _ in range(20):
        for context in (100, 900, 1500):
            cost.observe(32, truth(32, context), attended=attended([(32, context)]))
    assert priced(cost, 32, 1500) == pytest.approx(before, rel=0.1)


def test_noise_is_not_taken_for_attention() -> None:
    cost = BatchCost()
    generator = random.Random(2)
    for _ in range(500):
        rows, context = generator.randrange(1, 64), generator.randrange(3000)
        cost.observe(rows, rows_only(rows) * generator.uniform(0.9, 1.1), attended=attended([(rows, context)]))
    assert priced(cost, 32, 1500) < 1.25 * rows_only(32)


observations = st.lists(
    st.tuples(st.integers(1, 600), st.floats(0.1, 1e4), st.integers(0, 8000)), min_size=1, max_size=30
)


@thorough(200)
@given(observations, st.integers(1, 600), st.integers(0, 8000), st.integers(0, 8000))
def test_estimates_grow_with_what_is_attended_to_and_stay_bounded(
    observed: list[tuple[int, float, int]], rows: int, context: int, more: int
) -> None:
    cost = BatchCost()
    for count, milliseconds, behind in observed:
        cost.observe(count, milliseconds, attended=attended([(count, behind)]))
    less, much = priced(cost, rows, context), priced(cost, rows, context + more)
    assert 0 < priced(cost, rows, 0) <= less <= much
    few, many = cost.attention
    assert min(few, many) >= 0
    assert less <= priced(cost, rows, 0) + max(few, many) * attended([(rows, context)]).by_tile * (1 + 1e-9)
    smaller = [priced(cost, count, context) for count in range(1, rows + 1) if (count < TILE) == (rows < TILE)]
    assert smaller == sorted(smaller), "of one kernel, larger batches are never cheaper"
    for most in (1, 63, 64, 512):
        assert 1 <= cost.rows_within(200, most, context, attended([(1, more)])) <= most


@thorough(100)
@given(st.floats(0, 0.02), st.floats(0, 0.02), st.integers(0, 4000), st.integers(20, 2000))
def test_a_chunk_keeps_its_time_behind_any_context(few: float, many: float, context: int, budget: int) -> None:
    cost = BatchCost()
    cost.remember(
        {float(rows): rows_only(rows) for rows in (1, 2, 4, 8, 16, 32, 63, 64, 128, 256)}, (few, many)
    )
    rows = cost.rows_within(budget, 400, context)
    assert rows == 1 or rows_only(rows) + (few if rows < TILE else many) * rows * context <= budget * 2
    if rows > 1 and rows <= 256:
        assert cost.rows_within(budget, 400, context + 1000) <= max(rows, 400 if many < few else rows)


def test_attention_is_remembered_and_what_makes_no_sense_is_not() -> None:
    cost = calibrated()
    again = BatchCost()
    again.remember(cost.measured(), cost.attention)
    assert again.attention == cost.attention
    assert priced(again, 16, 900) == pytest.approx(priced(cost, 16, 900))
    assert cost.copy().attention == cost.attention
    wrong = BatchCost()
    wrong.remember({1.0: float("nan"), 2.0: -1.0, 0.0: 3.0}, (float("inf"), -3.0))
    assert wrong.measured() == {}
    assert wrong.attention == (0.0, 0.0)


def test_without_a_context_the_usual_one_is_meant() -> None:
    cost = calibrated()
    short = cost.estimate(32) or 0.0
    for _ in range(40):
        cost.observe(1, truth(1, 2000), attended=attended([(1, 2000)]))
    assert short < 0.4 * (cost.estimate(32) or 0.0)
    assert cost.estimate(32) == pytest.approx(truth(32, 2000), rel=0.1)


# Chunks of prompts.


def test_chunks_shrink_with_the_context() -> None:
    cost = calibrated()
    sizes = [cost.rows_within(100, 63, context) for context in (0, 500, 1000, 3000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 63
    assert sizes[-1] < 10


def test_a_tile_may_fit_where_fewer_rows_do_not() -> None:
    cost = calibrated()
    assert cost.rows_within(160, 63, 1000) < 30
    assert cost.rows_within(160, 64, 1000) == 64


def test_somebody_s_long_context_is_dear_in_tiles() -> None:
    """All of a tile's rows are computed for it."""
    cost = calibrated()
    alone = cost.rows_within(150, 400, 0)
    beside = cost.rows_within(150, 400, 0, attended([(1, 3000)]))
    assert alone > 100
    assert beside == 63


def test_a_prompt_behind_a_long_context_keeps_within_the_stall_budget() -> None:
    clock = FakeClock(rows_only, MACHINE)
    backend = FakeBackend(cells=8192, max_rows=512, clock=clock)
    engine = engine_on(backend, clock=clock, context_length=4000, stall_ms=150.0)
    measure_batches(backend, engine.cost, clock)
    decoder = submit(engine, greedy(words(2500), 300, ignore_end=True))
    while not decoder[0].tokens:
        step(engine)

    def milliseconds() -> float:
        before = clock.now
        step(engine)
        return 1000 * (clock.now - before)

    alone = milliseconds()
    prompt = submit(engine, greedy(words(2000, 1), 2))
    delays = []
    while not prompt.done:
        delays.append(milliseconds() - alone)
    assert sum(delay > 1.1 * 150 for delay in delays) <= 3
    assert max(delays) <= 2 * 150
    engine.cancel_all()


# Padding.


def padded(cost: BatchCost, rows: int, context: int, *, outputs: int = 0, **options: Any) -> int:
    """The number of rows behind ``context`` when they have been padded."""
    batch = Rows()
    batch.add(0, context, [1] * rows, logits_from=rows - outputs)
    backend = FakeBackend(cells=4096, max_rows=512)
    padding = Padding(backend, cost, options.pop("exact", None), **options)
    padding.add(batch, 4096, attended([(rows, context)]))
    assert batch.outputs == outputs
    assert set(batch.sequences[rows:]) <= {backend.info.scratch}
    return len(batch)


@pytest.mark.parametrize(
    ("rows", "context", "becomes"),
    [(22, 0, 22), (22, 100, 22), (22, 1500, 64), (40, 850, 64), (63, 300, 64), (64, 1500, 64), (2, 1500, 2)],
)
def test_rows_behind_a_long_context_are_padded_to_a_tile(rows: int, context: int, becomes: int) -> None:
    cost = calibrated()
    assert padded(cost, rows, context) == becomes
    assert truth(becomes, context) <= truth(rows, context)


def test_where_small_batches_are_identical_answers_stay_in_them() -> None:
    cost = calibrated()
    assert padded(cost, 40, 1500, outputs=40, answer_rows=63) == 40
    assert padded(cost, 40, 1500, outputs=0, answer_rows=63) == 64
    assert padded(cost, 40, 1500, outputs=40) == 64


def test_exact_mode_never_leaves_its_shapes() -> None:
    cost = calibrated()
    assert padded(cost, 40, 3000, exact=ExactShapes(2, 63)) == 40
    assert padded(cost, 1, 3000, exact=ExactShapes(2, 63)) == 2


def answer_after(backend: FakeBackend, context: int, rows: int, **options: Any) -> tuple[list[int], Any]:
    """Row counts of a prompt whose first ``context`` tokens are remembered and whose ``rows`` last are new, and
    what was answered."""
    clock = backend.clock = FakeClock(rows_only, MACHINE)
    engine = engine_on(backend, clock=clock, context_length=2000, **options)
    measure_batches(backend, engine.cost, clock)
    play(engine, greedy(words(context), 1))
    before = len(backend.row_counts)
    request = greedy((*words(context), *words(rows + 1, 5)[1:]), 6, ignore_end=True)
    [answer] = play(engine, request)
    assert answer.said == plain(request, context_length=2000, cells=2048)
    return backend.row_counts[before:], answer


def test_the_tail_of_a_prompt_is_padded() -> None:
    counts, _ = answer_after(FakeBackend(cells=4096, max_rows=512), 1000, 30)
    assert counts[0] == 64
    assert max(counts[1:]) < TILE, "one row at a time"


def test_the_tail_before_a_prompt_s_last_row_is_padded_where_that_waits_for_a_small_batch() -> None:
    backend = Spied(cells=4096, max_rows=512)
    counts, _ = answer_after(backend, 1000, 100, ends_in_small_batches=True)
    assert counts[0] >= TILE
    for rows in backend.batches[-len(counts) :]:
        assert not rows.outputs or len(rows) < TILE, "what is said comes from small batches"


def test_exact_answers_behind_a_long_context_stay_in_their_shapes() -> None:
    backend = FakeBackend(cells=4096, max_rows=512)
    counts, _ = answer_after(backend, 1000, 30, exact=ExactShapes(2, 48))
    assert 2 <= min(counts) <= max(counts) <= 48


# Drafts.


class Talker:
    """As much of a sequence as a bid looks at."""

    def __init__(self, computed: int) -> None:
        self.id, self.computed = 1, computed


def window(cost: BatchCost, context: int, spare: int = 100, chance: float = 0.99) -> int:
    """Rows for a draft of 100 tokens."""
    draft = Draft([1] * 100)
    bid = Bid(Talker(context), Proposal("test", draft), expected([chance] * 100))  # type: ignore[arg-type]
    grant([bid], 1, 1, spare, cost, attended=attended([(1, context)]))
    return 1 + bid.granted


def test_windows_shrink_behind_a_long_context_or_fill_a_tile() -> None:
    cost = calibrated()
    assert window(cost, 0) > 60
    assert window(cost, 2000, spare=62) <= 63
    assert window(cost, 2000) >= TILE, "a tile costs less than fifty rows"
    dear = BatchCost()
    dear.remember(cost.measured(), (10 * ROW, 10 * ROW))
    assert window(dear, 2000, chance=0.9) < window(dear, 0, chance=0.9)
