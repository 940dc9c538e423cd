"""Cancelled at any moment, everything is free within a step, and what was computed stays of use."""

from __future__ import annotations

from typing import Any

import pytest

from reame_core.engine.engine import SPARED_S
from reame_core.testing import FakeClock
from tests.engine.support import (
    Answers,
    Drafter,
    FakeBackend,
    MemoryStore,
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


def cancel(engine: Any, answers: Answers) -> None:
    assert answers.group is not None
    engine.cancel(answers.group)
    check_memory(engine)
    assert answers.done
    assert all(a.reason == "cancelled" or a.ends == 1 for a in answers)
    assert engine.memory.promised == sum(s.limit - 1 - s.computed for s in engine.running)


def test_cancelling_a_queued_request() -> None:
    # case 57
    engine = engine_on(parallel=1)
    first = submit(engine, greedy("first", 10))
    second = submit(engine, sampled("second", 10, n=3))
    step(engine)
    cancel(engine, second)
    assert engine.waiting == 0
    assert [a.usage.completion for a in second] == [0] * 3
    assert [a.usage.computed for a in second] == [0] * 3
    run(engine)
    assert first.said == plain(greedy("first", 10))


def test_cancelling_before_the_first_step() -> None:
    engine = engine_on()
    found = submit(engine, greedy("question"))
    cancel(engine, found)
    assert engine.idle
    assert not engine.step()
    assert engine.memory.ledger.used == 0


def test_cancelling_who_waits_for_a_donor_and_the_donor() -> None:
    engine = engine_on(FakeBackend(max_rows=16))
    donor, waiter, other = (submit(engine, greedy(words(100), 3)) for _ in range(3))
    step(engine)
    assert engine.waiting == 2
    cancel(engine, waiter)
    cancel(engine, donor)
    run(engine)
    assert other.said == plain(greedy(words(100), 3))


@pytest.mark.parametrize("steps", range(1, 5))
@pytest.mark.parametrize("recurrent", [False, True])
def test_cancelling_while_the_prompt_is_computed_keeps_what_was_computed(steps: int, recurrent: bool) -> None:
    # case 59
    engine = engine_on(FakeBackend(max_rows=16, recurrent=recurrent))
    request = greedy(words(100), 5)
    found = submit(engine, request)
    for _ in range(steps):
        step(engine)
    cancel(engine, found)
    assert engine.idle
    assert found[0].usage.computed == 16 * steps
    again = play(engine, request)[0]
    assert again.said == plain(request)
    assert again[0].usage.reused == {"ram": 16 * steps}


@pytest.mark.parametrize("tokens", [1, 2, 7, 20])
def test_cancelling_while_decoding_keeps_the_conversation(tokens: int) -> None:
    # case 25
    engine = engine_on()
    request = greedy(words(80), 40, ignore_end=True)
    found = submit(engine, request)
    while len(found[0].tokens) < tokens:
        step(engine)
    cancel(engine, found)
    said = found[0].tokens
    assert found[0].usage.completion == tokens
    history = greedy((*words(80), *said, *b"and then"), 6)
    after = play(engine, history)[0]
    assert after.said == plain(history)
    # The newest token was known and not yet computed.
    assert after[0].usage.reused == {"ram": 80 + tokens - 1}
    regenerated = greedy((*words(80), *b"another question"), 6)
    assert play(engine, regenerated)[0][0].usage.reused == {"ram": 80}


def test_cancelling_in_the_middle_of_drafts() -> None:
    # case 63
    request = greedy(words(40), 60, ignore_end=True)
    drafter = Drafter(lambda truth, limit: [*truth[:3], 1, 1][:limit])
    drafter.learn(request)
    for steps in range(1, 8):
        engine = engine_on(hooks=drafter.hooks)
        found = submit(engine, request)
        for _ in range(steps):
            step(engine)
        cancel(engine, found)
        assert play(engine, request)[0].said == plain(request)
        check_empty(engine)


@pytest.mark.parametrize("steps", range(8))
def test_cancelling_a_request_of_several_choices(steps: int) -> None:
    # cases 57, 111
    engine = engine_on(FakeBackend(max_rows=16), parallel=3)
    beside = submit(engine, greedy("beside", 30, ignore_end=True))
    found = submit(engine, sampled(words(50), 20, n=4, ignore_end=True))
    for _ in range(steps):
        step(engine)
    cancel(engine, found)
    assert [a.reason for a in found] == ["cancelled"] * 4
    run(engine)
    assert beside.said == plain(greedy("beside", 30, ignore_end=True))
    check_empty(engine)


def test_cancelling_greedy_copies_ends_each_of_them() -> None:
    engine = engine_on()
    found = submit(engine, greedy("question", 20, n=3, ignore_end=True))
    step(engine)
    step(engine)
    cancel(engine, found)
    assert [a.reason for a in found] == ["cancelled"] * 3


def test_cancelling_twice_or_too_late_does_nothing() -> None:
    engine = engine_on()
    [found] = play(engine, greedy("question"))
    before = len(found.events)
    assert found.group is not None
    engine.cancel(found.group)
    engine.cancel(found.group)
    assert len(found.events) == before
    other = submit(engine, greedy("question"))
    cancel(engine, other)
    assert other.group is not None
    engine.cancel(other.group)
    assert other.done


def test_cancelling_withholds_what_was_withheld() -> None:
    engine = engine_on(FakeBackend(replies={"go": "one two three"}))
    found = submit(engine, greedy("go", 40, stop=("two four",)))
    while len(found[0].text) < 4:
        step(engine)
    for _ in range(3):
        step(engine)
    assert found[0].text == "one "
    cancel(engine, found)
    assert found[0].text == "one "


def test_cancelling_from_within_a_sink() -> None:
    engine = engine_on()
    beside = submit(engine, greedy("beside", 20))

    class Impatient(Answers):
        def _take(self, events: Any) -> None:
            super()._take(events)
            if not self.done:
                assert self.group is not None
                engine.cancel(self.group)

    request = greedy("question", 20, ignore_end=True)
    found = Impatient(request)
    found.group = engine.submit(request, found)
    run(engine)
    assert found[0].reason == "cancelled"
    assert found[0].usage.completion == 1
    assert beside.said == plain(greedy("beside", 20))


def test_cancel_all() -> None:
    engine = engine_on(parallel=2)
    found = [submit(engine, sampled(f"user {i}", 20, n=2)) for i in range(4)]
    step(engine)
    engine.cancel_all()
    assert engine.idle
    assert all(a.reason == "cancelled" for f in found for a in f)
    check_empty(engine)


def test_a_cancelled_prompt_is_persisted_as_far_as_it_came() -> None:
    # case 25
    store = MemoryStore()
    engine = engine_on(FakeBackend(max_rows=32), store.hooks)
    found = submit(engine, greedy(words(100), 5))
    step(engine)
    step(engine)
    cancel(engine, found)
    fresh = engine_on(hooks=store.hooks)
    again = play(fresh, greedy(words(100), 5))[0]
    assert again.said == plain(greedy(words(100), 5))
    assert again[0].usage.reused == {"store": 64}


def test_many_starts_and_cancels_leave_nothing_behind() -> None:
    # case 63
    engine = engine_on(FakeBackend(cells=300, max_rows=32), context_length=120)
    control = greedy("control", 6)
    for i in range(100):
        found = submit(engine, sampled(words(20 + i % 60, i % 5), 20, seed=i, n=1 + i % 3))
        for _ in range(i % 5):
            step(engine)
        cancel(engine, found)
        if i % 20 == 0:
            assert play(engine, control)[0].said == plain(control)
    check_empty(engine)


def test_a_batch_of_a_cancelled_request_alone_ends_early() -> None:
    # case 57
    seen: list[int] = []

    def during(number: int) -> None:
        seen.append(number)
        if number == 1:
            assert found.group is not None
            engine.interrupt(found.group)

    engine = engine_on(FakeBackend(max_rows=32, during_decode=during))
    found = submit(engine, greedy(words(100), 5))
    step(engine)
    held = engine.backend.rows_computed
    step(engine)
    assert seen == [0, 1]
    assert engine.backend.rows_computed == held, "nothing of an interrupted batch counts"
    cancel(engine, found)
    assert found[0].usage.computed == held
    again = submit(engine, greedy(words(100), 5))
    run(engine)
    assert again.said == plain(greedy(words(100), 5))
    assert again[0].usage.reused == {"ram": held}


def test_an_interrupted_batch_is_computed_again_where_nobody_cancels() -> None:
    def during(number: int) -> None:
        if number % 2:
            assert found.group is not None
            engine.interrupt(found.group)

    engine = engine_on(FakeBackend(max_rows=32, during_decode=during))
    found = submit(engine, greedy(words(100), 12))
    run(engine)
    assert found.said == plain(greedy(words(100), 12))
    check_empty(engine)


def test_a_batch_that_others_share_ends_early_but_not_again_and_again() -> None:
    """Requests that come and go cost the others a part of a batch now and then, never their progress."""
    clock = FakeClock()
    backend = FakeBackend(clock=clock, during_decode=lambda number: interrupt())
    going: list[Answers] = []

    def interrupt() -> None:
        if going and going[-1].group is not None and not going[-1].done:
            engine.interrupt(going[-1].group)

    engine = engine_on(backend, clock=clock, parallel=2)
    staying = submit(engine, greedy("staying", 60, ignore_end=True))
    step(engine)
    interrupted = 0
    while not staying.done:
        going.append(submit(engine, greedy(words(40, len(going)), 30, reuse=False)))
        rows = backend.rows_computed
        step(engine)
        interrupted += backend.rows_computed == rows
        cancel(engine, going[-1])
    assert staying.said == plain(greedy("staying", 60, ignore_end=True))
    assert 1 <= interrupted <= 1 + clock.now / SPARED_S


def test_a_batch_that_is_mostly_of_others_is_not_interrupted() -> None:
    def during(number: int) -> None:
        if going.group is not None:
            engine.interrupt(going.group)

    request = greedy("going", 5)
    going = Answers(request)
    backend = FakeBackend(during_decode=during)
    engine = engine_on(backend)
    submit(engine, greedy(words(40), 5))
    going.group = engine.submit(request, going)
    step(engine)
    assert backend.rows_computed == backend.row_counts[0] > 40


def test_a_recurrent_model_is_never_interrupted() -> None:
    """Its state cannot go back to what it was before the batch."""

    def during(number: int) -> None:
        assert found.group is not None
        engine.interrupt(found.group)

    engine = engine_on(FakeBackend(recurrent=True, during_decode=during))
    found = submit(engine, greedy("question", 8))
    run(engine)
    assert found.said == plain(greedy("question", 8), recurrent=True)


def test_a_request_whose_listener_fails_is_stopped() -> None:
    class Deaf(Answers):
        def __call__(self, events: Any) -> None:
            super().__call__(events)
            raise RuntimeError("nobody is there")

    request = greedy("question", 100, ignore_end=True)
    found = Deaf(request)
    engine = engine_on()
    found.group = engine.submit(request, found)
    beside = submit(engine, greedy("beside", 20))
    run(engine)
    assert found[0].reason == "cancelled"
    assert found[0].usage.completion == 1
    assert beside.said == plain(greedy("beside", 20))
