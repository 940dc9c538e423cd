"""Restoring a part of an exported block, and giving up shared cells to restore whole blocks from there."""

from __future__ import annotations

from typing import Any

import pytest

from reame_core.engine.hooks import EngineHooks
from reame_core.testing import FakeBackend
from tests.engine.support import MemoryStore, check_empty, engine_on, greedy, hook, plain, play, submit, words
from tests.engine.support import run as finish

LONG = words(100)
BRANCH = (*LONG[:60], *words(40, salt=1)[1:])


@pytest.fixture
def store() -> MemoryStore:
    kept = MemoryStore(block=48)
    play(engine_on(hooks=kept.hooks), greedy(LONG))
    return kept


def test_hook_on_prefill_keeps_the_part_of_a_block_that_fits(store: MemoryStore) -> None:
    def restore(sequence: Any, kv: Any) -> int:
        assert kv.restore(48, store.states[LONG[:48]])
        assert kv.restore(96, store.states[LONG[:96]], 60)
        return kv.length

    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    found = play(engine, greedy(BRANCH))[0][0]
    assert found.said == plain(greedy(BRANCH))[0]
    assert found.usage.reused == {"plugin": 60}
    assert found.usage.computed == len(BRANCH) - 60
    check_empty(engine)


@pytest.mark.parametrize(("end", "keep"), [(48, 49), (48, 0), (48, -1), (200, 100)])
def test_hook_on_prefill_refuses_impossible_parts(store: MemoryStore, end: int, keep: int) -> None:
    refused: list[str] = []

    def restore(sequence: Any, kv: Any) -> None:
        try:
            kv.restore(end, store.states[LONG[:48]], keep)
        except ValueError as error:
            refused.append(str(error))

    found = play(engine_on(hooks=EngineHooks(on_prefill=hook(restore))), greedy(LONG))[0][0]
    assert len(refused) == 1
    assert found.said == plain(greedy(LONG))[0]


def test_hook_on_prefill_a_block_that_needs_more_room_than_there_is(store: MemoryStore) -> None:
    answers: list[bool] = []

    def restore(sequence: Any, kv: Any) -> None:
        answers.append(kv.restore(48, store.states[LONG[:48]], 20))

    engine = engine_on(FakeBackend(cells=40), EngineHooks(on_prefill=hook(restore)))
    request = greedy(LONG[:30], 4)
    found = play(engine, request)[0][0]
    assert answers == [False]
    assert found.said == plain(request)[0]
    check_empty(engine)


def test_hook_on_prefill_a_window_divides_no_block_longer_than_itself(store: MemoryStore) -> None:
    answers: list[bool] = []

    def restore(sequence: Any, kv: Any) -> None:
        answers.append(kv.restore(48, store.states[LONG[:48]], 20))

    for window in (32, 48):
        request = greedy(LONG)
        engine = engine_on(FakeBackend(window=window), EngineHooks(on_prefill=hook(restore)))
        found = play(engine, request)[0][0]
        assert found.usage.computed == (80 if answers[-1] else 100)
    assert answers == [False, True]


def test_hook_on_prefill_a_recurrent_state_is_restored_whole_or_not_at_all() -> None:
    store = MemoryStore(whole=True)
    play(engine_on(FakeBackend(recurrent=True), store.hooks), greedy(LONG[:40]))
    [(tokens, state)] = [(t, s) for t, s in store.states.items() if len(t) == 40]
    answers: list[bool] = []

    def restore(sequence: Any, kv: Any) -> None:
        answers.extend((kv.cut(0), kv.restore(40, state, 20), kv.restore(40, state)))

    request = greedy((*tokens, 97, 98))
    found = play(engine_on(FakeBackend(recurrent=True), EngineHooks(on_prefill=hook(restore))), request)[0][0]
    assert answers == [False, False, True]
    assert found.said == plain(request, recurrent=True)[0]


def test_hook_on_prefill_gives_up_shared_cells_for_whole_blocks(store: MemoryStore) -> None:
    def restore(sequence: Any, kv: Any) -> int | None:
        if kv.length != 60:
            return None
        assert kv.cut(48)
        assert kv.restore(96, store.states[LONG[:96]])
        return 36

    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    play(engine, greedy(BRANCH))
    found = play(engine, greedy(LONG))[0][0]
    assert found.said == plain(greedy(LONG))[0]
    assert found.usage.reused == {"ram": 60, "plugin": 36}
    assert found.usage.computed == 4
    assert play(engine, greedy(BRANCH))[0][0].said == plain(greedy(BRANCH))[0]
    check_empty(engine)


@pytest.mark.parametrize("length", [0, 48])
def test_hook_on_prefill_a_cut_alone_counts_as_nothing_reused(length: int) -> None:
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(lambda sequence, kv: kv.cut(length) and None)))
    play(engine, greedy(BRANCH))
    found = play(engine, greedy(LONG))[0][0] if length else None
    if found:
        assert found.usage.reused == {"ram": length}
        assert found.usage.computed == len(LONG) - length
        assert found.said == plain(greedy(LONG))[0]
    check_empty(engine)


def test_hook_on_prefill_no_cut_where_there_is_no_room_for_it() -> None:
    answers: list[bool] = []

    def cut(sequence: Any, kv: Any) -> None:
        if kv.length:
            answers.append(kv.cut(0))

    # 60 shared cells, 40 + 4 of one's own: giving up the shared ones would need more than 107.
    hooks = EngineHooks(on_prefill=hook(cut))
    engine = engine_on(FakeBackend(cells=150), hooks, context_length=110, parallel=2)
    first = submit(engine, greedy(BRANCH, 4, ignore_end=True))
    second = submit(engine, greedy(LONG, 4))
    finish(engine)
    assert answers == [False]
    assert first[0].said == plain(greedy(BRANCH, 4, ignore_end=True))[0]
    assert second[0].said == plain(greedy(LONG, 4))[0]


def test_hook_persist_may_not_cut() -> None:
    refused: list[str] = []

    def cut(sequence: Any, kv: Any, stage: Any) -> None:
        try:
            kv.cut(0)
        except ValueError as error:
            refused.append(str(error))

    play(engine_on(hooks=EngineHooks(persist=hook(cut))), greedy(LONG))
    assert len(refused) == 2
