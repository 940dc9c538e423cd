"""A prefix that comes from elsewhere: its sequence waits for it, others do not, and not for ever."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from reame_core.engine.engine import Engine
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.restoring import MOST_WAITED_S
from reame_core.engine.worker import EngineWorker
from reame_core.plugins.api import Stage
from tests.engine.support import (
    Answers,
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
PATIENCE = 20.0


class FromElsewhere:
    """Has the blocks of ``store`` only when ``came`` is set."""

    def __init__(self, store: MemoryStore, seconds: float = 5.0) -> None:
        self._store = store
        self._seconds = seconds
        self.came = threading.Event()
        self.calls = 0

    def __call__(self, sequence: Any, kv: Any) -> int | None:
        if sequence.prompt_length != len(LONG):
            return None
        self.calls += 1
        if self.came.is_set():
            return self._store.on_prefill(sequence, kv)
        if self.calls == 1:
            kv.wait_for(self.came, self._seconds)
        return None


class Moments:
    """A clock that hardly moves unless told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-7
        return self.now


def stored() -> MemoryStore:
    store = MemoryStore()
    play(engine_on(hooks=store.hooks), greedy(LONG))
    return store


def timed(hooks: EngineHooks, clock: Moments) -> Engine:
    return engine_on(hooks=hooks, clock=clock)


def test_hook_on_prefill_is_called_again_when_something_has_come() -> None:
    restore = FromElsewhere(stored())
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    answers = submit(engine, greedy(LONG))
    for _ in range(3):
        assert step(engine)
    assert restore.calls == 1
    assert engine.steps == 0
    restore.came.set()
    run(engine)
    assert restore.calls == 2
    assert answers.said == plain(greedy(LONG))
    assert answers[0].usage.reused == {"plugin": 96}
    check_empty(engine)


def test_hook_on_prefill_others_go_on_while_one_waits() -> None:
    restore = FromElsewhere(stored())
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    other = greedy(words(10, 5), 30)
    first, second = submit(engine, other), submit(engine, greedy(LONG))
    while len(first[0].tokens) < 20:
        step(engine)
    assert restore.calls == 1
    restore.came.set()
    run(engine)
    assert [first.said, second.said] == [plain(other), plain(greedy(LONG))]
    check_empty(engine)


def test_hook_on_prefill_what_does_not_come_in_time_is_computed() -> None:
    clock = Moments()
    restore = FromElsewhere(stored(), seconds=0.5)
    engine = timed(EngineHooks(on_prefill=hook(restore)), clock)
    answers = submit(engine, greedy(LONG))
    step(engine)
    clock.now = 0.4
    step(engine)
    assert restore.calls == 1
    assert engine.steps == 0
    clock.now = 0.6
    run(engine)
    assert restore.calls == 2
    assert answers.said == plain(greedy(LONG))
    assert answers[0].usage.reused == {}


def test_hook_on_prefill_waiting_again_and_again_without_anything_coming_ends() -> None:
    clock, calls = Moments(), []

    def never_done(sequence: Any, kv: Any) -> None:
        calls.append(clock.now)
        kv.wait_for(threading.Event(), 0.3)

    engine = timed(EngineHooks(on_prefill=hook(never_done)), clock)
    answers = submit(engine, greedy(LONG))
    while not answers[0].tokens:
        step(engine)
        clock.now += 0.1
    assert calls[-1] == pytest.approx(MOST_WAITED_S, abs=0.11)
    run(engine)
    assert answers.said == plain(greedy(LONG))


def test_hook_on_prefill_the_next_plugin_is_asked_after_the_wait() -> None:
    restore, asked = FromElsewhere(MemoryStore()), []
    restore.came.set()
    waits = FromElsewhere(MemoryStore())
    hooks = EngineHooks(on_prefill=hook(waits, lambda sequence, kv: asked.append(kv.length)))
    engine = engine_on(hooks=hooks)
    answers = submit(engine, greedy(LONG))
    step(engine)
    assert asked == []
    waits.came.set()
    run(engine)
    assert asked == [0]
    assert answers.said == plain(greedy(LONG))


def test_hook_on_prefill_cancelled_while_it_waits() -> None:
    restore = FromElsewhere(stored())
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    answers = submit(engine, greedy(LONG))
    step(engine)
    engine.cancel(answers.group)
    restore.came.set()
    run(engine)
    assert answers[0].reason == "cancelled"
    assert restore.calls == 1
    check_empty(engine)


def test_hook_on_prefill_a_background_prompt_that_waits_makes_room_for_users() -> None:
    restore = FromElsewhere(stored())
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    background = submit(engine, greedy(LONG, background=True))
    step(engine)
    user = greedy(words(20, 5))
    answers = submit(engine, user)
    while answers[0].finished is None:
        step(engine)
    restore.came.set()
    run(engine)
    assert answers.said == plain(user)
    assert background.said == plain(greedy(LONG))


def test_hook_on_prefill_who_wants_the_same_waits_with_it() -> None:
    restore = FromElsewhere(stored())
    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    same = greedy((*LONG[:90], 97, 98))
    first, second = submit(engine, greedy(LONG)), submit(engine, same)
    for _ in range(3):
        step(engine)
    restore.came.set()
    run(engine)
    assert [first.said, second.said] == [plain(greedy(LONG)), plain(same)]
    assert second[0].usage.reused == {"ram": 90}
    assert restore.calls == 2


def test_hook_on_prefill_an_idle_engine_wakes_up_for_it() -> None:
    restore = FromElsewhere(stored())
    worker = EngineWorker(engine_on(hooks=EngineHooks(on_prefill=hook(restore))))
    done = threading.Event()
    answers = Answers(greedy(LONG))

    def sink(events: list[Any]) -> None:
        answers(events)
        if answers[0].finished:
            done.set()

    try:
        worker.submit(greedy(LONG), sink)
        threading.Timer(0.02, restore.came.set).start()
        assert done.wait(PATIENCE)
    finally:
        worker.close(PATIENCE)
    assert answers.said == plain(greedy(LONG))
    assert answers[0].usage.reused == {"plugin": 96}


def test_hook_persist_may_not_wait() -> None:
    refused: list[str] = []

    def persist(sequence: Any, kv: Any, stage: Stage) -> None:
        try:
            kv.wait_for(threading.Event(), 1.0)
        except ValueError as error:
            refused.append(str(error))

    play(engine_on(hooks=EngineHooks(persist=hook(persist))), greedy(LONG))
    assert refused == ["only on_prefill may wait"] * 2
