"""A prefix that takes long to restore comes in parts, and nobody waits for all of it."""

from __future__ import annotations

from typing import Any

from reame_core.engine.hooks import EngineHooks
from reame_core.testing import FakeBackend
from tests.engine.support import (
    MemoryStore,
    check_empty,
    engine_on,
    greedy,
    hook,
    plain,
    play,
    run,
    step,
    submit,
    words,
)

LONG = words(100)


class OneBlockACall:
    """Restores a block of 16 tokens in each call."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.lengths: list[int] = []
        self.seconds: list[float] = []

    def __call__(self, sequence: Any, kv: Any) -> int | None:
        self.seconds.append(kv.seconds)
        end = kv.length + 16
        state = self._store.states.get(tuple(sequence.tokens[:end].tolist()))
        if end >= sequence.prompt_length or state is None or not kv.restore(end, state):
            return None
        self.lengths.append(kv.length)
        kv.go_on_later()
        return 16


def stored() -> MemoryStore:
    store = MemoryStore()
    play(engine_on(hooks=store.hooks), greedy(LONG))
    return store


def test_hook_on_prefill_goes_on_in_the_next_step() -> None:
    restore = OneBlockACall(stored())
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    answers = submit(engine, greedy(LONG))
    for blocks in range(1, 7):
        assert step(engine)
        assert restore.lengths == [16 * n for n in range(1, blocks + 1)]
        assert engine.steps == 0, "nothing is computed yet"
    run(engine)
    assert answers.said == plain(greedy(LONG))
    assert answers[0].usage.reused == {"plugin": 96}
    assert answers[0].usage.computed == 4
    check_empty(engine)


def test_hook_on_prefill_others_go_on_between_the_parts() -> None:
    restore = OneBlockACall(stored())
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)), stall_ms=100)
    other = greedy(words(10, 5), 30)
    first = submit(engine, other)
    for _ in range(3):
        step(engine)
    second = submit(engine, greedy(LONG))
    third = submit(engine, greedy((*LONG[:90], 97, 98)))
    said = len(first[0].tokens)
    for number in range(1, 6):
        step(engine)
        assert len(first[0].tokens) == said + number
    run(engine)
    assert [a.said for a in (first, second, third)] == [
        plain(r) for r in (other, greedy(LONG), greedy((*LONG[:90], 97, 98)))
    ]
    assert third[0].usage.reused == {"ram": 90}, "who wants the same waits for it"
    assert restore.seconds[0] == 0.1
    check_empty(engine)


def test_hook_on_prefill_several_share_the_time_of_a_step() -> None:
    restore = OneBlockACall(stored())
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)), stall_ms=100)
    play(engine, greedy(words(40, 5)), greedy(words(40, 6)))
    assert restore.seconds == [0.05, 0.05]


def test_hook_on_prefill_the_next_plugin_is_asked_when_the_first_has_no_more() -> None:
    restore, lengths = OneBlockACall(stored()), []
    hooks = EngineHooks(on_prefill=hook(restore, lambda sequence, kv: lengths.append(kv.length)))
    engine = engine_on(hooks=hooks)
    answer = play(engine, greedy(LONG))[0]
    assert answer.said == plain(greedy(LONG))
    assert lengths == [96]


def test_hook_on_prefill_cancelled_between_two_parts() -> None:
    restore = OneBlockACall(stored())
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    answers = submit(engine, greedy(LONG))
    step(engine)
    step(engine)
    engine.cancel(answers.group)
    assert answers[0].reason == "cancelled"
    run(engine)
    assert restore.lengths == [16, 32]
    again = play(engine, greedy(LONG))[0]
    assert again.said == plain(greedy(LONG))
    assert again[0].usage.reused == {"ram": 32, "plugin": 64}
    check_empty(engine)


def test_hook_on_prefill_a_background_prompt_between_two_parts_is_put_away() -> None:
    restore = OneBlockACall(stored())
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    background = submit(engine, greedy(LONG, background=True))
    step(engine)
    user = greedy(words(20, 5))
    answers = submit(engine, user)
    run(engine)
    assert answers.said == plain(user)
    assert background.said == plain(greedy(LONG))
    check_empty(engine)


def test_hook_on_prefill_asking_for_more_without_restoring_anything_ends() -> None:
    calls: list[int] = []

    def never_done(sequence: Any, kv: Any) -> int:
        calls.append(kv.length)
        kv.go_on_later()
        return 0

    answer = play(engine_on(hooks=EngineHooks(on_prefill=hook(never_done))), greedy(LONG))[0]
    assert answer.said == plain(greedy(LONG))
    assert calls == [0]


def test_hook_on_prefill_room_is_kept_for_what_comes_later() -> None:
    """Cells for all of a prompt are promised before its first part is restored."""
    restore = OneBlockACall(stored())
    hooks = EngineHooks(on_prefill=hook(restore))
    requests = [greedy(LONG), greedy(words(60, 5), 30), greedy(words(70, 6), 20)]
    engine = engine_on(FakeBackend(cells=130), hooks, context_length=120)
    assert [answer.said for answer in play(engine, *requests)] == [plain(request) for request in requests]
    check_empty(engine)
