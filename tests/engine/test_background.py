"""Background requests are computed while nobody else is there, and are in nobody's way."""

from __future__ import annotations

import pytest

from reame_core.testing import FakeBackend
from tests.engine.support import check_empty, engine_on, greedy, plain, play, step, submit, words
from tests.engine.support import run as finish

LONG, OTHER = words(100), words(60, salt=1)


def test_alone_it_is_a_request_like_any_other() -> None:
    request = greedy(LONG, background=True)
    assert play(engine_on(), request)[0][0].said == plain(greedy(LONG))[0]


def test_it_waits_for_everybody() -> None:
    engine = engine_on()
    background = submit(engine, greedy(LONG, 4, background=True))
    first = submit(engine, greedy(OTHER, 4))
    second = submit(engine, greedy(words(50, salt=2), 4))
    while not (first.done and second.done):
        assert engine.waiting >= 1
        assert all(not sequence.request.background for sequence in engine.running)
        step(engine)
    finish(engine)
    assert background[0].said == plain(greedy(LONG, 4))[0]


@pytest.mark.parametrize("steps", range(1, 12))
@pytest.mark.parametrize("cells", [180, 512])
def test_it_is_put_away_whatever_it_is_at(steps: int, cells: int) -> None:
    engine = engine_on(FakeBackend(cells=cells, max_rows=24), context_length=120)
    background = submit(engine, greedy(LONG, 8, background=True, ignore_end=True))
    for _ in range(steps):
        step(engine)
    other = submit(engine, greedy(OTHER, 6))
    while not other.done:
        step(engine)
        assert all(not sequence.request.background for sequence in engine.running)
    assert other[0].said == plain(greedy(OTHER, 6))[0]
    finish(engine)
    assert background[0].said == plain(greedy(LONG, 8, ignore_end=True))[0]
    usage = background[0].usage
    assert usage.computed + sum(usage.reused.values()) == 100
    check_empty(engine)


def test_what_it_had_computed_is_not_computed_again() -> None:
    backend = FakeBackend(max_rows=24)
    engine = engine_on(backend)
    background = submit(engine, greedy(LONG, 1, background=True))
    for _ in range(3):
        step(engine)
    play(engine, greedy(OTHER, 4))
    assert background.done
    assert backend.rows_computed <= 100 + 60 + 4 + 1


@pytest.mark.parametrize("steps", [0, 2, 6])
def test_recurrent_models_can_put_it_away(steps: int) -> None:
    engine = engine_on(FakeBackend(recurrent=True, max_rows=24))
    background = submit(engine, greedy(LONG, 4, background=True))
    for _ in range(steps):
        step(engine)
    other = submit(engine, greedy(OTHER, 4))
    finish(engine)
    assert background[0].said == plain(greedy(LONG, 4), recurrent=True)[0]
    assert other[0].said == plain(greedy(OTHER, 4), recurrent=True)[0]


@pytest.mark.parametrize("when", ["queued", "running", "put away"])
def test_it_can_be_cancelled(when: str) -> None:
    engine = engine_on(FakeBackend(max_rows=24))
    background = submit(engine, greedy(LONG, 4, background=True))
    if when != "queued":
        step(engine)
    other = submit(engine, greedy(OTHER, 4))
    if when == "put away":
        step(engine)
    assert background.group is not None
    engine.cancel(background.group)
    finish(engine)
    assert background[0].reason == "cancelled"
    assert other[0].said == plain(greedy(OTHER, 4))[0]
    check_empty(engine)


def test_a_failed_engine_forgets_it() -> None:
    engine = engine_on()
    background = submit(engine, greedy(LONG, 4, background=True))
    engine.fail_all(RuntimeError("broken"))
    assert background[0].error is not None
    assert engine.waiting == 0
    assert engine.idle
