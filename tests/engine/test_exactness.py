"""Exact mode: only batch shapes whose rows are bit-identical, with their cells always in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reame_core.engine.backend import Rows
from reame_core.engine.exactness import CANDIDATES, ExactShapes, find_exact_shapes
from reame_core.engine.request import Request
from tests.engine.support import (
    Drafter,
    FakeBackend,
    check_empty,
    check_memory,
    engine_on,
    greedy,
    plain,
    play,
    run,
    sampled,
    step,
    submit,
    words,
)

SAMPLE = list(words(40)[1:])


class Kernels(FakeBackend):
    """As llama.cpp does: other numbers of rows are computed by other kernels, which differ a little.
    ``classes`` are the smallest numbers of rows of each kernel."""

    def __init__(self, *classes: int, **arguments: Any) -> None:
        super().__init__(**{"cells": 1024, "max_rows": 128, **arguments})
        self._classes = classes
        self._kernel = 0

    def decode(self, rows: Rows) -> None:
        self._kernel = sum(len(rows) >= least for least in self._classes)
        super().decode(rows)

    def _line(self, cell: int, attended: NDArray[np.intp]) -> NDArray[np.float32]:
        line = super()._line(cell, attended)
        rng = np.random.default_rng(int(self._values[cell]) + self._kernel)
        return (line + rng.normal(0, 0.5, len(line))).astype(np.float32)


@pytest.mark.parametrize(
    ("classes", "wanted"),
    [
        ((), ExactShapes(1, 63)),
        ((2,), ExactShapes(2, 63)),
        ((8,), ExactShapes(1, 7)),
        ((2, 8), ExactShapes(2, 7)),
        ((2, 4), ExactShapes(2, 3)),
        ((2, 3), ExactShapes(2, 2)),
        ((2, 64), ExactShapes(2, 63)),
        ((2, 33), ExactShapes(2, 32)),
    ],
)
def test_the_shapes_are_found(classes: tuple[int, ...], wanted: ExactShapes) -> None:
    backend = Kernels(*classes, max_outputs=64)
    assert find_exact_shapes(backend, SAMPLE) == wanted
    assert backend.used_cells() == 0


@pytest.mark.parametrize("cells", [40, 64, 100, 300, 600, 700])
def test_the_shapes_are_found_in_any_memory(cells: int) -> None:
    backend = Kernels(2, 8, cells=cells)
    assert find_exact_shapes(backend, SAMPLE) == ExactShapes(2, 7 if cells > 40 else 6)
    assert backend.used_cells() == 0


@pytest.mark.parametrize("max_rows", [2, 5, 16, 512])
@pytest.mark.parametrize("max_outputs", [2, 8, 64])
def test_the_shapes_are_found_with_any_batch(max_rows: int, max_outputs: int) -> None:
    found = find_exact_shapes(Kernels(2, 8, max_rows=max_rows, max_outputs=max_outputs), SAMPLE)
    assert found == ExactShapes(2, min(7, max(c for c in CANDIDATES if c <= min(max_rows, max_outputs))))


def test_the_shapes_of_a_recurrent_model_are_found() -> None:
    assert find_exact_shapes(Kernels(2, 8, recurrent=True), SAMPLE) == ExactShapes(2, 7)


def test_a_failing_search_leaves_nothing_behind() -> None:
    backend = Kernels(2, fail_on=[5])
    with pytest.raises(Exception, match="fail here"):
        find_exact_shapes(backend, SAMPLE)
    assert backend.used_cells() == 0


USERS: list[Request] = [
    greedy(words(70), 16, ignore_end=True),
    greedy((*words(40), *b"branch"), 16, ignore_end=True),
    sampled(words(70), 16, seed=1, n=2),
    greedy("short", 16, n=3),
    sampled("another", 16, seed=2, logprobs=2),
]


def exact_engine(backend: FakeBackend, hooks: Any = None, **options: Any) -> Any:
    return engine_on(backend, hooks, exact=ExactShapes(2, 7), **options)


@pytest.mark.parametrize("cells", [120, 260, 1024])
@pytest.mark.parametrize("drafts", [False, True])
def test_every_answer_is_the_same_among_others_and_alone(cells: int, drafts: bool) -> None:
    options: dict[str, Any] = {"context_length": 100, "parallel": 4}
    backends: dict[str, Any] = {"cells": cells, "order_matters": True}
    wanted = [play(exact_engine(Kernels(2, 8, **backends), **options), user)[0].said for user in USERS]
    hooks = None
    if drafts:
        drafter = Drafter(lambda truth, limit: [*truth[:2], 1, 1][:limit])
        for user in USERS:
            drafter.learn(user, order_matters=True)
        hooks = drafter.hooks
    engine = exact_engine(Kernels(2, 8, **backends), hooks, **options)
    for _ in range(2):
        assert [a.said for a in play(engine, *USERS)] == wanted
    assert [play(engine, user)[0].said for user in USERS] == wanted
    check_empty(engine)


def test_without_exact_mode_the_kernels_disagree() -> None:
    """The test above would notice."""
    alone = [play(engine_on(Kernels(2, 8)), user)[0].said for user in USERS]
    together = [a.said for a in play(engine_on(Kernels(2, 8)), *USERS)]
    assert alone != together


def test_small_batches_are_padded_and_nothing_of_it_stays() -> None:
    backend = FakeBackend()
    engine = engine_on(backend, exact=ExactShapes(4, 7))
    found = submit(engine, greedy(words(10), 8, ignore_end=True))
    while step(engine):
        check_memory(engine)  # the scratch sequence is empty
    assert found.said == plain(greedy(words(10), 8, ignore_end=True))
    assert set(backend.row_counts) <= {4, 5, 6, 7}
    check_empty(engine)


def test_padding_finds_room_in_a_full_memory() -> None:
    backend = FakeBackend(cells=100)
    engine = engine_on(backend, exact=ExactShapes(4, 7), context_length=96)
    for salt in range(4):
        request = greedy((salt, *words(60, salt)), None, ignore_end=True)
        assert play(engine, request)[0][0].usage.completion == 96 - 61
    with pytest.raises(Exception, match="context of 100 tokens"):
        engine_on(FakeBackend(cells=100), exact=ExactShapes(4, 7), context_length=100)


def test_padding_of_a_failing_batch_is_dropped_too() -> None:
    backend = FakeBackend(fail_on=[2])
    engine = engine_on(backend, exact=ExactShapes(6, 7))
    assert play(engine, greedy("question", 8))[0][0].error is not None
    assert play(engine, greedy("question", 8))[0].said == plain(greedy("question", 8))


def test_nothing_is_reclaimed_while_something_runs() -> None:
    class Watched(FakeBackend):
        def reclaim(self) -> None:
            assert not engine.running, "retired cells were freed below a running sequence"
            super().reclaim()

    engine = exact_engine(Watched(cells=300, order_matters=True), context_length=100, parallel=3, residents=2)
    users = [greedy((i, *words(30 + i, i)), 10, ignore_end=True) for i in range(12)]
    found = [submit(engine, user) for user in users]
    run(engine)
    assert all(f.said == plain(u, order_matters=True) for f, u in zip(found, users, strict=True))


def test_who_finds_no_room_waits_until_nothing_runs_and_then_gets_it() -> None:
    engine = exact_engine(FakeBackend(cells=200, order_matters=True), context_length=110)
    play(engine, greedy((1, *words(80, 1)), 20, ignore_end=True))
    running = submit(engine, greedy((2, *words(20, 2)), 30, ignore_end=True))
    step(engine)
    waiting = submit(engine, greedy((3, *words(80, 3)), 20, ignore_end=True))
    while not running.done:
        assert engine.waiting == 1
        step(engine)
    run(engine)
    assert waiting.said == plain(waiting.request, order_matters=True)


def test_a_memory_full_of_the_past_does_not_make_everybody_wait_for_everybody() -> None:
    """Room can only be made while nothing runs: then it is made for more than one."""
    engine = exact_engine(FakeBackend(cells=410, order_matters=True), context_length=110)
    for salt in range(6):
        play(engine, greedy((salt, *words(60, salt)), 10, ignore_end=True))
    for salt in range(10, 18):
        submit(engine, greedy((salt, *words(60, salt)), 10, ignore_end=True))
    most = []
    while step(engine):
        most.append(len(engine.running))
    assert max(most) >= 2
    assert sum(most) / len(most) > 1.5


def test_a_remembered_prefix_in_the_way_of_its_own_user_is_given_up() -> None:
    """In disorder and too large to be copied beside itself: whoever asked for it still gets an answer."""
    engine = exact_engine(FakeBackend(cells=110, order_matters=True), context_length=108)
    first = greedy((1, *words(30, 1)), 2, ignore_end=True)
    second = greedy((2, *words(50, 2)), 2, ignore_end=True)
    play(engine, first, second)
    play(engine, first)
    continued = greedy((2, *words(50, 2), *words(20, 3)), 20, ignore_end=True)
    assert play(engine, continued)[0].said == plain(continued, order_matters=True)


@pytest.mark.parametrize(
    "shapes", [ExactShapes(1, 1), ExactShapes(1, 63), ExactShapes(2, 2), ExactShapes(3, 3)]
)
def test_any_shapes_compute_everything(shapes: ExactShapes) -> None:
    engine = engine_on(FakeBackend(cells=1024), exact=shapes, parallel=4)
    assert [a.said for a in play(engine, *USERS)] == [plain(user) for user in USERS]
    assert isinstance(engine.backend, FakeBackend)
    assert all(shapes.least <= rows <= shapes.most for rows in engine.backend.row_counts)
