"""Who waits for what: first come, first served; nobody computes what somebody else is about to compute."""

from __future__ import annotations

from typing import Any

import pytest

from reame_core.engine.admission import WORTH_WAITING
from tests.engine.support import (
    FakeBackend,
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


def salted(length: int, salt: int) -> tuple[int, ...]:
    """A prompt that shares not even its first token with others."""
    return (salt, *words(length, salt)[1:])


def test_no_more_than_parallel_run_at_once() -> None:
    engine = engine_on(FakeBackend(cells=2048), parallel=3)
    found = [submit(engine, greedy(salted(20, i), 5, ignore_end=True)) for i in range(10)]
    most = 0
    while step(engine):
        most = max(most, len(engine.running))
        assert len(engine.running) <= 3
    assert most == 3
    assert all(f.done for f in found)


def test_first_come_first_served() -> None:
    engine = engine_on(FakeBackend(cells=2048), parallel=2)
    found = [submit(engine, greedy(salted(20, i), 5, ignore_end=True)) for i in range(8)]
    order = []
    while step(engine):
        order += [i for i, f in enumerate(found) if f.done and i not in order]
    assert order == sorted(order)


def test_the_head_of_the_queue_is_not_overtaken_for_lack_of_room() -> None:
    engine = engine_on(FakeBackend(cells=200), context_length=200, parallel=4)
    running = submit(engine, greedy(salted(50, 1), 50, ignore_end=True))
    step(engine)
    large = submit(engine, greedy(salted(150, 2), 20, ignore_end=True))
    for i in range(4):
        submit(engine, greedy(salted(5, 10 + i), 2, ignore_end=True))
    while not running.done:
        assert [s.request for s in engine.running] == [running.request], "a later one was let in before"
        step(engine)
    step(engine)
    assert engine.running[0].request == large.request
    run(engine)


def test_a_stream_of_small_ones_does_not_starve_a_large_one() -> None:
    engine = engine_on(FakeBackend(cells=200), context_length=200, parallel=4)
    for i in range(4):
        submit(engine, greedy(salted(5, i), 20, ignore_end=True))
    step(engine)
    large = submit(engine, greedy(salted(170, 99), 20, ignore_end=True))
    for i in range(200):
        submit(engine, greedy(salted(5, 100 + i % 50), 20, ignore_end=True))
        step(engine)
        if large.done:
            break
    assert large.done
    engine.cancel_all()


@pytest.mark.parametrize("length", [60, 150, 240])
@pytest.mark.parametrize("users", [2, 5])
def test_identical_prompts_in_flight_compute_the_prefix_once(length: int, users: int) -> None:
    # case 78
    backend = FakeBackend(cells=4096)
    engine = engine_on(backend, context_length=512, parallel=8)
    requests = [sampled(words(length), 4, seed=i, ignore_end=True) for i in range(users)]
    found = play(engine, *requests)
    assert [f.said for f in found] == [plain(r) for r in requests]
    assert backend.rows_computed == length + users - 1 + users * 3
    assert sorted(f[0].usage.computed for f in found) == [*[1] * (users - 1), length]


def test_prompts_with_a_common_beginning_wait_for_that_only() -> None:
    backend = FakeBackend(cells=4096)
    engine = engine_on(backend, context_length=512)
    requests = [greedy((*words(100), *words(30, 7 + i)[1:]), 1) for i in range(3)]
    found = play(engine, *requests)
    assert [f.said for f in found] == [plain(r) for r in requests]
    assert backend.rows_computed == 129 + 29 + 29


def test_later_twins_join_while_the_first_is_filling() -> None:
    backend = FakeBackend(cells=4096, max_rows=32)
    engine = engine_on(backend, context_length=512)
    first = submit(engine, greedy(words(200), 3, ignore_end=True))
    for _ in range(3):
        step(engine)
    second = submit(engine, greedy(words(200), 3, ignore_end=True))
    run(engine)
    assert first.said == second.said == plain(greedy(words(200), 3, ignore_end=True))
    assert backend.rows_computed == 200 + 2 + 1 + 2


def test_little_in_common_is_not_worth_waiting() -> None:
    engine = engine_on(FakeBackend(max_rows=4))
    requests = [greedy((*words(WORTH_WAITING - 1), *words(30, 7 + i)[1:]), 1) for i in range(2)]
    for request in requests:
        submit(engine, request)
    step(engine)
    assert len(engine.running) == 2
    run(engine)


def test_reuse_false_waits_for_nobody() -> None:
    backend = FakeBackend()
    engine = engine_on(backend)
    play(engine, greedy(words(60), 1), greedy(words(60), 1, reuse=False))
    assert backend.rows_computed == 120


@pytest.mark.parametrize("recurrent", [False, True])
def test_waiters_of_a_cancelled_donor_wait_for_each_other(recurrent: bool) -> None:
    backend = FakeBackend(max_rows=16, recurrent=recurrent)
    engine = engine_on(backend, parallel=8)
    request = greedy(words(100), 2, ignore_end=True)
    found = [submit(engine, request) for _ in range(5)]
    step(engine)
    assert (len(engine.running), engine.waiting) == (1, 4)
    assert found[0].group is not None
    engine.cancel(found[0].group)
    step(engine)
    assert (len(engine.running), engine.waiting) == (1, 3)
    run(engine)
    assert all(f.said == plain(request) for f in found[1:])
    used = sorted(f[0].usage.computed for f in found[1:])
    assert used == [1, 1, 1, 84]


def test_others_pass_who_waits_for_a_donor() -> None:
    engine = engine_on(FakeBackend(max_rows=16, cells=1024))
    donor = submit(engine, greedy(words(150), 2))
    twin = submit(engine, greedy(words(150), 2))
    other = submit(engine, greedy(salted(10, 5), 2))
    while not other.done:
        step(engine)
    assert not donor.done
    assert not twin.done
    run(engine)


def test_a_donor_that_ends_at_once_is_resident_by_then() -> None:
    backend = FakeBackend()
    found = play(engine_on(backend), *[greedy(words(60), 1)] * 3)
    assert sum(f[0].usage.computed for f in found) == 62
    assert backend.rows_computed == 62


def test_a_donor_may_itself_have_waited() -> None:
    """A chain of ever longer prompts, the longest first in line."""
    backend = FakeBackend(max_rows=16, cells=2048)
    engine = engine_on(backend, parallel=8)
    requests = [greedy((*words(40 + 20 * i), *salted(3, i)), 2) for i in (3, 0, 2, 1)]
    found = play(engine, *requests)
    assert [f.said for f in found] == [plain(r) for r in requests]
    assert sum(f[0].usage.computed for f in found) == 103 + 3 * 3


def test_twins_in_a_memory_for_one_of_them() -> None:
    engine = engine_on(FakeBackend(cells=100), context_length=100)
    requests: list[Any] = [sampled(words(60), 35, seed=i, ignore_end=True) for i in range(4)]
    found = play(engine, *requests)
    assert [f.said for f in found] == [plain(r) for r in requests]


def test_a_hundred_and_more_choices_and_requests_all_end() -> None:
    # cases 62, 80
    engine = engine_on(FakeBackend(cells=300), context_length=100, parallel=6)
    found = [submit(engine, sampled(salted(5 + i % 30, i % 90), 3, n=1 + i % 4)) for i in range(60)]
    run(engine)
    assert all(f.done for f in found)
