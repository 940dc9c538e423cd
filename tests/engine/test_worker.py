"""The engine's thread, from other threads and from an event loop. Nothing here waits for time to pass."""

from __future__ import annotations

import asyncio
import gc
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reame_core.engine.engine import Engine
from reame_core.engine.events import Event, Failed, Finished, TextDelta
from reame_core.engine.request import Request
from reame_core.engine.worker import EngineClosed, EngineWorker, QueueFull
from reame_core.errors import ContextLengthExceeded, EngineError, InvalidRequest
from tests.engine.support import Answers, FakeBackend, check_empty, engine_on, greedy, plain, sampled, words

PATIENCE = 60
"""Seconds after which a test that hangs fails. None of them ever waits that long."""


class GatedBackend(FakeBackend):
    """Computes a batch for each permit, so that a test decides how far the engine gets."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(during_decode=lambda number: self.during(), **arguments)
        self.during: Callable[[], None] = lambda: None
        self.permits = threading.Semaphore(0)
        self.arrived = threading.Semaphore(0)
        self.threads: set[int] = set()

    def decode(self, rows: Any) -> None:
        self.threads.add(threading.get_ident())
        self.arrived.release()
        assert self.permits.acquire(timeout=PATIENCE)
        super().decode(rows)

    def wait_for_a_batch(self) -> None:
        assert self.arrived.acquire(timeout=PATIENCE)

    def open(self) -> None:
        self.permits.release(100_000)


class Listener(Answers):
    """A sink that another thread can wait for."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.changed = threading.Condition()

    def __call__(self, events: list[Event]) -> None:
        with self.changed:
            super().__call__(events)
            self.changed.notify_all()

    def wait(self) -> Listener:
        with self.changed:
            assert self.changed.wait_for(lambda: self.done, PATIENCE)
        return self


def submitted(worker: EngineWorker, request: Request) -> tuple[Listener, Any]:
    listener = Listener(request)
    return listener, worker.submit(request, listener)


@pytest.fixture
def worker() -> Iterator[EngineWorker]:
    worker = EngineWorker(engine_on(FakeBackend(cells=2048), parallel=4))
    yield worker
    worker.close(PATIENCE)
    assert not worker._thread.is_alive()


@pytest.fixture
def gated() -> Iterator[tuple[EngineWorker, GatedBackend]]:
    backend = GatedBackend(cells=2048)
    worker = EngineWorker(engine_on(backend, parallel=2), queue_limit=4)
    yield worker, backend
    backend.open()
    worker.close(PATIENCE)
    assert not worker._thread.is_alive()
    assert len(backend.threads) <= 1, "two threads used the model"


def test_requests_from_many_threads_each_get_their_own_answer(worker: EngineWorker) -> None:
    # cases 62, 63
    requests = [sampled(words(20, i), 15, seed=i) for i in range(12)]
    found: dict[int, str] = {}

    def ask(i: int) -> None:
        found[i] = "".join(e.text for e in worker.stream(requests[i]) if isinstance(e, TextDelta))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [found[i] for i in range(12)] == [plain(r)[0][0] for r in requests]


def test_a_stream_ends_with_the_last_event_of_the_last_choice(worker: EngineWorker) -> None:
    request = sampled("question", 10, n=3)
    answers = Answers(request)
    for event in worker.stream(request):
        answers([event])
    assert answers.said == plain(request)


def test_bad_requests_are_refused_before_anything_is_queued(worker: EngineWorker) -> None:
    # cases 64, 66
    for refuse in (worker.stream, lambda r: worker.submit(r, lambda events: None)):
        with pytest.raises(ContextLengthExceeded):
            refuse(greedy(words(256), 1))
        with pytest.raises(InvalidRequest):
            refuse(greedy((-1,), 1))
    assert worker.engine.idle


def test_closing_a_stream_cancels_within_a_step(gated: tuple[EngineWorker, GatedBackend]) -> None:
    # case 57
    worker, backend = gated
    stream = worker.stream(greedy("question", 200, ignore_end=True))
    backend.permits.release(3)
    assert isinstance(next(stream), TextDelta)
    backend.wait_for_a_batch()
    stream.close()
    stream.close()
    with pytest.raises(StopIteration):
        next(stream)
    backend.open()
    beside, _ = submitted(worker, greedy("beside", 5))
    beside.wait()
    assert worker.engine.steps < 30


def test_leaving_the_with_block_of_a_stream_cancels(gated: tuple[EngineWorker, GatedBackend]) -> None:
    worker, backend = gated
    with worker.stream(greedy("question", 200, ignore_end=True)):
        backend.wait_for_a_batch()
    backend.open()
    beside, _ = submitted(worker, greedy("beside", 5))
    beside.wait()
    assert worker.engine.steps < 30


def test_a_stream_that_was_read_to_its_end_cancels_nothing(worker: EngineWorker) -> None:
    with worker.stream(greedy("question", 5)) as stream:
        events = list(stream)
    assert isinstance(events[-1], Finished)
    assert events[-1].reason in ("stop", "length")
    assert list(stream) == []


def test_cancelling_by_ticket_from_another_thread(gated: tuple[EngineWorker, GatedBackend]) -> None:
    # case 63
    worker, backend = gated
    running, ticket = submitted(worker, sampled("question", 200, n=2, ignore_end=True))
    queued, queued_ticket = submitted(worker, greedy("queued", 200))
    backend.permits.release(4)
    for _ in range(5):
        backend.wait_for_a_batch()
    for cancel in (queued_ticket.cancel, ticket.cancel, ticket.cancel):
        thread = threading.Thread(target=cancel)
        thread.start()
        thread.join(PATIENCE)
    backend.permits.release(1)
    assert [a.reason for a in running.wait()] == ["cancelled"] * 2
    assert [a.reason for a in queued.wait()] == ["cancelled"]
    assert queued[0].usage.completion == 0
    ticket.cancel()
    again, _ = submitted(worker, greedy("again", 5))
    backend.open()
    assert again.wait().said == plain(greedy("again", 5))


def test_cancelling_by_ticket_interrupts_the_batch(gated: tuple[EngineWorker, GatedBackend]) -> None:
    # case 57
    worker, backend = gated
    found, ticket = submitted(worker, greedy("question", 200, ignore_end=True))
    backend.during = lambda: ticket.cancel()
    backend.permits.release(1)
    assert found.wait()[0].reason == "cancelled"
    assert backend.rows_computed == 0


def test_a_dropped_stream_is_cancelled(gated: tuple[EngineWorker, GatedBackend]) -> None:
    worker, backend = gated
    stream = worker.stream(greedy("question", 200, ignore_end=True))
    backend.wait_for_a_batch()
    del stream
    gc.collect()
    backend.open()
    after, _ = submitted(worker, greedy("after", 5))
    assert after.wait().said == plain(greedy("after", 5))
    assert backend.decodes < 20


def test_the_queue_has_a_limit(gated: tuple[EngineWorker, GatedBackend]) -> None:
    # case 80
    worker, backend = gated
    found = [submitted(worker, greedy(f"user {i}", 3))[0] for i in range(2)]
    backend.wait_for_a_batch()
    refusals: list[str] = []
    for i in range(10):
        try:
            found.append(submitted(worker, greedy(f"later {i}", 3))[0])
        except QueueFull as error:
            refusals.append(str(error))
    assert len(refusals) >= 5
    assert "4 requests" in refusals[0]
    backend.open()
    for listener in found:
        assert listener.wait().said == plain(listener.request)
    late, _ = submitted(worker, greedy("late", 3))
    late.wait()


def test_a_queue_of_nobody_still_lets_run_who_finds_a_place() -> None:
    backend = GatedBackend(cells=2048)
    worker = EngineWorker(engine_on(backend, parallel=1), queue_limit=0)
    try:
        first, _ = submitted(worker, greedy("first", 3))
        backend.wait_for_a_batch()
        with pytest.raises(QueueFull):
            submitted(worker, greedy("second", 3))
        backend.open()
        first.wait()
        while True:
            try:
                second, _ = submitted(worker, greedy("second", 3))
                break
            except QueueFull:  # the step that ended the first is not over yet
                pass
        assert second.wait().said == plain(greedy("second", 3))
    finally:
        backend.open()
        worker.close(PATIENCE)


def test_a_closed_engine_takes_nothing_and_ends_what_runs(gated: tuple[EngineWorker, GatedBackend]) -> None:
    # case 130
    worker, backend = gated
    running, _ = submitted(worker, greedy("question", 200, ignore_end=True))
    queued = [submitted(worker, greedy(f"queued {i}", 200))[0] for i in range(3)]
    backend.wait_for_a_batch()
    closer = threading.Thread(target=worker.close, args=(PATIENCE,))
    closer.start()
    while not worker._closing:
        pass
    with pytest.raises(EngineClosed):
        worker.submit(greedy("late"), lambda events: None)
    with pytest.raises(EngineClosed):
        worker.stream(greedy("late"))
    backend.open()
    closer.join(PATIENCE)
    assert [a.reason for a in (running.wait()[0], *(q.wait()[0] for q in queued))] == ["cancelled"] * 4
    worker.close(PATIENCE)
    assert worker.engine.idle
    check_empty(worker.engine)


def test_closing_an_idle_engine() -> None:
    worker = EngineWorker(engine_on())
    worker.close(PATIENCE)
    assert not worker._thread.is_alive()


class Unreliable(FakeBackend):
    """``logits`` raises at some calls: an error that no batch is to blame for."""

    raise_at: frozenset[int] = frozenset()
    calls = 0

    def logits(self) -> Any:
        self.calls += 1
        if self.calls in self.raise_at:
            raise RuntimeError("something nobody thought of")
        return super().logits()


def test_an_unexpected_error_fails_what_runs_and_the_thread_lives() -> None:
    # case 108
    backend = Unreliable(cells=1024)
    backend.raise_at = frozenset({3, 10, 11})
    worker = EngineWorker(engine_on(backend))
    try:
        for _ in range(4):
            both = [submitted(worker, sampled(f"user {i}", 4, n=2, ignore_end=True))[0] for i in range(2)]
            for listener in both:
                for answer, wanted in zip(listener.wait(), plain(listener.request), strict=True):
                    if answer.error is None:
                        assert answer.said == wanted
                    else:
                        assert isinstance(answer.error, EngineError)
                        assert "nobody thought of" in str(answer.error)
        last, _ = submitted(worker, greedy("last", 5))
        assert last.wait().said == plain(greedy("last", 5))
    finally:
        worker.close(PATIENCE)
    check_empty(worker.engine)


def test_even_a_backend_that_cannot_be_cleared_leaves_the_thread_alive() -> None:
    class Hopeless(Unreliable):
        def clear(self) -> None:
            raise RuntimeError("and this as well")

    backend = Hopeless()
    backend.raise_at = frozenset({1})
    worker = EngineWorker(engine_on(backend))
    first, _ = submitted(worker, greedy("first", 5))
    assert first.wait()[0].error is not None
    called = threading.Event()
    worker.call(lambda engine: called.set())
    assert called.wait(PATIENCE)
    worker.close(PATIENCE)


def test_a_failing_action_fails_nothing_but_what_runs(worker: EngineWorker) -> None:
    def fail(engine: Engine) -> None:
        raise ValueError("not my day")

    worker.call(fail)
    after, _ = submitted(worker, greedy("after", 5))
    after.wait()
    called: queue.SimpleQueue[Engine] = queue.SimpleQueue()
    worker.call(called.put)
    assert called.get(timeout=PATIENCE) is worker.engine


def test_a_request_that_cannot_be_queued_is_told_so(
    worker: EngineWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def submit(*arguments: Any) -> None:
        raise MemoryError("no room for a buffer")

    monkeypatch.setattr(worker.engine, "submit", submit)
    events = list(worker.stream(sampled("question", 5, n=2)))
    assert [e.choice for e in events] == [0, 1]
    assert all(isinstance(e, Failed) for e in events)


def test_actions_run_between_steps_on_the_engine_thread(gated: tuple[EngineWorker, GatedBackend]) -> None:
    worker, backend = gated
    found, _ = submitted(worker, greedy("question", 5))
    backend.wait_for_a_batch()
    ran: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    worker.call(lambda engine: ran.put((threading.get_ident(), engine.steps)))
    assert ran.empty()
    backend.permits.release(1)
    thread, steps = ran.get(timeout=PATIENCE)
    assert backend.threads == {thread}
    assert steps == 1
    backend.open()
    found.wait()


# From an event loop.


def test_an_asynchronous_stream(worker: EngineWorker) -> None:
    async def ask(request: Request) -> Answers:
        answers = Answers(request)
        async for event in worker.astream(request):
            answers([event])
        return answers

    async def all_of_them() -> list[Answers]:
        return await asyncio.gather(*(ask(sampled(f"user {i}", 10, seed=i, n=2)) for i in range(6)))

    for answers in asyncio.run(all_of_them()):
        assert answers.said == plain(answers.request)


def test_closing_an_asynchronous_stream_or_its_task_cancels(gated: tuple[EngineWorker, GatedBackend]) -> None:
    # case 57
    worker, backend = gated

    async def leave_early() -> None:
        stream = worker.astream(greedy("question", 200, ignore_end=True))
        backend.permits.release(1)
        async for event in stream:
            assert isinstance(event, TextDelta)
            break
        await stream.aclose()  # type: ignore[attr-defined]

        async def listen() -> None:
            async for _ in worker.astream(greedy("another", 200, ignore_end=True)):
                pass

        task = asyncio.create_task(listen())
        await asyncio.to_thread(backend.wait_for_a_batch)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave_early())
    backend.open()
    beside, _ = submitted(worker, greedy("beside", 5))
    beside.wait()
    assert worker.engine.steps < 40


def test_errors_of_an_asynchronous_stream_come_at_its_first_event(worker: EngineWorker) -> None:
    async def ask() -> None:
        async for _ in worker.astream(greedy(words(300), 1)):
            pass

    with pytest.raises(ContextLengthExceeded):
        asyncio.run(ask())


def test_a_loop_that_is_gone_cancels_its_requests(gated: tuple[EngineWorker, GatedBackend]) -> None:
    worker, backend = gated
    loop = asyncio.new_event_loop()
    stream = worker.astream(greedy("question", 200, ignore_end=True))
    backend.permits.release(1)
    assert isinstance(loop.run_until_complete(anext(stream)), TextDelta)  # type: ignore[arg-type]
    loop.close()
    backend.open()
    beside, _ = submitted(worker, greedy("beside", 5))
    beside.wait()
    assert worker.engine.steps < 60
