"""What is remembered, what is forgotten, and where cells come from when room is short."""

from __future__ import annotations

from typing import Any

import pytest

from reame_core.engine.engine import Engine
from reame_core.engine.request import Request
from tests.engine.support import (
    Drafter,
    FakeBackend,
    Spied,
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


def remembered(engine: Engine) -> list[int]:
    """Lengths of the residents, least recently used first."""
    return [slot.length for slot in engine.memory.resident]


def test_the_least_recently_used_is_forgotten_first() -> None:
    engine = engine_on(FakeBackend(cells=130), context_length=130)
    for salt in range(3):
        play(engine, greedy(words(38, salt + 10)[1:], 2, ignore_end=True))
    assert remembered(engine) == [38, 38, 38]
    play(engine, greedy(words(20, 10)[1:], 1, ignore_end=True))  # uses the first again
    play(engine, greedy(words(48, 20)[1:], 2, ignore_end=True))
    found = play(engine, greedy(words(38, 10)[1:], 2, ignore_end=True))[0]
    assert found[0].usage.reused["ram"] > 0
    assert play(engine, greedy(words(38, 11)[1:], 2, ignore_end=True))[0][0].usage.reused == {}


def test_a_short_memory_forgets_no_more_than_it_must() -> None:
    engine = engine_on(FakeBackend(cells=100), context_length=100)
    for salt in range(3):
        play(engine, greedy(words(30, salt + 10)[1:], 2, ignore_end=True))
    assert remembered(engine) == [30, 30, 30]
    play(engine, greedy(words(31, 20)[1:], 2, ignore_end=True))
    assert remembered(engine) == [30, 30, 31]


def test_residents_have_a_limit() -> None:
    engine = engine_on(residents=2)
    for salt in range(5):
        play(engine, greedy(words(20, salt + 10)[1:], 2))
        assert len(engine.memory.resident) <= 2
    engine = engine_on(residents=0)
    play(engine, greedy("question"))
    assert engine.memory.ledger.used == 0


def test_what_a_longer_one_holds_too_is_not_kept_twice() -> None:
    engine = engine_on()
    play(engine, greedy(words(40), 5, ignore_end=True))
    play(engine, greedy(words(60), 5, ignore_end=True))
    assert sorted(remembered(engine)) == [44, 64]  # other answers
    assert 64 < engine.memory.ledger.used <= 64 + 4
    play(engine, greedy(words(60), 20, ignore_end=True))
    assert sorted(remembered(engine)) == [44, 79]


def test_sequence_numbers_run_out_before_cells() -> None:
    # case 23
    engine = engine_on(FakeBackend(max_sequences=6), parallel=2)
    for salt in range(9):
        request = greedy(words(20, salt + 10)[1:], 3)
        assert play(engine, request)[0].said == plain(request)
        assert len(engine.memory.resident) <= 4


def test_a_donor_that_fills_the_memory_is_continued_in_place() -> None:
    backend = Spied(cells=100)
    engine = engine_on(backend, context_length=100)
    play(engine, greedy(words(60), 38, ignore_end=True))
    assert remembered(engine) == [97]
    request = greedy((*words(50), *b"other"), 40, ignore_end=True)
    found = play(engine, request)[0]
    assert found.said == plain(request)
    assert found[0].usage.reused == {"ram": 50}
    assert remembered(engine) == [50 + 5 + 39]
    check_empty(engine)


def test_a_donor_in_use_is_shared_and_never_cut() -> None:
    engine = engine_on(FakeBackend(cells=100), context_length=100)
    first = submit(engine, greedy(words(40), 20, ignore_end=True))
    for _ in range(3):
        step(engine)
    request = greedy((*words(35), *b"x"), 20, ignore_end=True)
    second = submit(engine, request)
    run(engine)
    assert first.said == plain(greedy(words(40), 20, ignore_end=True))
    assert second.said == plain(request)


def test_who_finds_no_room_waits_for_it() -> None:
    engine = engine_on(FakeBackend(cells=100), context_length=100, parallel=4)
    first = submit(engine, greedy(words(50), 30, ignore_end=True))
    second = submit(engine, greedy(words(50, 1)[1:], 30, ignore_end=True))
    step(engine)
    assert (len(engine.running), engine.waiting) == (1, 1)
    while not first.done:
        step(engine)
    run(engine)
    assert second.said == plain(greedy(words(50, 1)[1:], 30, ignore_end=True))
    assert second[0].finished is not None


@pytest.mark.parametrize("cells", [64, 70, 100, 150])
@pytest.mark.parametrize("recurrent", [False, True])
def test_sessions_come_and_go_in_a_tiny_memory(cells: int, recurrent: bool) -> None:
    # cases 18, 23
    engine = engine_on(FakeBackend(cells=cells, recurrent=recurrent), context_length=64)
    system = words(20)
    users: list[Request] = [greedy((*system, *words(3 + 4 * i, i + 50)[1:]), 10) for i in range(8)]
    users += [sampled((*system[: 5 + i], *b"end"), 12, seed=i) for i in range(8)]
    for order in (users, users[::-1], users[::2] + users[1::2]):
        assert [a.said for a in play(engine, *order)] == [plain(user) for user in order]
    check_empty(engine)


def test_a_growing_chat_in_a_memory_of_one_context() -> None:
    # cases 15, 20
    engine = engine_on(FakeBackend(cells=128), context_length=128)
    chat: tuple[int, ...] = words(10)
    for turn in range(5):
        request = greedy(chat, 12, ignore_end=True)
        found = play(engine, request)[0]
        assert found.said == plain(request)
        if turn:
            # All but the newest message was in memory, the last token of the answer excepted.
            assert found[0].usage.computed == 1 + 7
        chat = (*chat, *found[0].tokens, *words(8, turn)[1:])


def test_rejected_drafts_are_given_back() -> None:
    request = greedy("question", 20, ignore_end=True)
    drafter = Drafter(lambda truth, limit: [*truth[:1], 1, 2, 3, 4][:limit])
    drafter.learn(request)
    engine = engine_on(hooks=drafter.hooks)
    play(engine, request)
    assert engine.memory.ledger.used == len(request.prompt) + 19


def test_retired_cells_come_back_when_nothing_runs_or_room_is_short() -> None:
    drafter = Drafter(lambda truth, limit: [1, 2, 3, 4][:limit])
    users = [greedy(f"user {i} asks", 20, ignore_end=True) for i in range(3)]
    for user in users:
        drafter.learn(user)
    for cells in (1024, 110):
        engine = engine_on(FakeBackend(cells=cells), drafter.hooks, context_length=64)
        assert [a.said for a in play(engine, *users)] == [plain(user) for user in users]
        assert engine.memory._retired == []
        check_empty(engine)


def test_forgetting_and_resetting() -> None:
    engine = engine_on()
    play(engine, greedy(words(40), 4), greedy(words(40, 5), 4))
    assert engine.memory.forget_residents()
    assert not engine.memory.forget_residents()
    found = submit(engine, greedy(words(40), 4))
    step(engine)
    engine.memory.reset()
    assert engine.running == []
    check_memory(engine)
    assert not found.done


def test_prefixes_of_a_model_that_lost_early_positions_are_not_used() -> None:
    # case 4: a window that really drops cells
    class Dropping(FakeBackend):
        def covers(self, sequence: int, length: int) -> bool:
            return length > self.length(sequence) - 30

    engine = engine_on(Dropping(window=24))
    play(engine, greedy(words(100), 10, ignore_end=True))
    for cut, reused in ((40, 1), (90, 90), (100, 100)):
        request = greedy((*words(cut), *b"else"), 8)
        found = play(engine, request)[0]
        assert found.said == plain(request, window=24)
        assert found[0].usage.reused.get("ram", 0) in ((0, reused) if cut == 40 else (reused,))
        engine.memory.forget_residents()
        play(engine, greedy(words(100), 10, ignore_end=True))


def test_cells_stay_in_the_order_of_positions_where_there_is_room() -> None:
    backend = FakeBackend(cells=2048, order_matters=True)
    engine = engine_on(backend, parallel=3)
    drafter_requests: list[Any] = [sampled((*words(30 + i), *b"tail"), 20, seed=i, n=2) for i in range(5)]
    for _ in range(2):
        found = play(engine, *drafter_requests)
        wanted = [plain(r, order_matters=True) for r in drafter_requests]
        assert [f.said for f in found] == wanted
