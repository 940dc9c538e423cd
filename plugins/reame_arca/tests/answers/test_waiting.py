"""How long a request can wait for another server: a store in memory, a clock that only moves when told to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reame_arca.answers.layer import Answers
from reame_arca.answers.leases import Leases
from reame_arca.options import Options
from reame_arca.sealing import Space

from plugins.reame_arca.tests.fake_store import FakeClient, fake_store
from reame_core.engine.request import Request
from reame_core.plugins.api import AskAgain, Question
from reame_core.testing import FakeClock

WAIT_S = 5
LONGEST_DELAY_S = 0.25


class Server:
    """Asks ``client`` as one server does."""

    def __init__(self, client: FakeClient) -> None:
        self.clock = FakeClock()
        self.store = fake_store(client)
        self.leases = Leases(self.store, 100)
        self.answers = Answers(
            Options(url="redis://fake", answers_wait_s=WAIT_S),
            self.store,
            lambda layer, tenant, scope: Space("reame", layer, scope, tenant, None),
            {},
            100,
            clock=self.clock,
            leases=self.leases,
        )

    def close(self) -> None:
        self.answers.close()
        self.store.close(0.1)


@contextlib.contextmanager
def server(client: FakeClient) -> Iterator[Server]:
    made = Server(client)
    try:
        yield made
    finally:
        made.close()


def question() -> Question:
    return Question(Request(prompt=(1, 2, 3), max_tokens=8), 8, False)


def locks(client: FakeClient) -> list[str]:
    return [name for name in client.values if name.endswith(":lock")]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), max_size=200))
def test_locks_that_change_hands_hold_up_nobody_longer(changes: list[bool]) -> None:
    """Where one that computes dies another takes its place, over and over: the limit is that of the request."""
    client = FakeClient()
    with server(client) as one, server(client) as two:
        one.answers.recall(question())
        [lock] = locks(client)
        waiting, waited = question(), 0.0
        for turn in range(10_000):
            answer = two.answers.recall(waiting)
            if not isinstance(answer, AskAgain):
                break
            assert 0 < answer.seconds <= LONGEST_DELAY_S
            waited += answer.seconds
            two.clock.now += answer.seconds
            if turn < len(changes) and changes[turn]:
                client.values[lock] = b"another one's"
        assert answer is None, "it computes"
        assert WAIT_S <= waited <= WAIT_S + LONGEST_DELAY_S


class Stalling(FakeClient):
    """Does what it is asked, and does not say so in time."""

    stalls = False

    def getrange(self, name: str, start: int, end: int) -> bytes:
        if self.stalls and locks(self):
            self.stalls = False
            raise TimeoutError
        return super().getrange(name, start, end)


@pytest.mark.parametrize("stalls", [False, True])
def test_a_lock_of_which_nobody_was_told_is_free_again(stalls: bool) -> None:
    client = Stalling()
    with server(client) as one, server(client) as two:
        client.stalls = stalls
        assert one.answers.recall(question()) is None
        assert one.store.flush(60)
        assert isinstance(two.answers.recall(question()), AskAgain) is not stalls
        assert one.store.counts.get("answers", "not asked") == stalls
