"""Parts of the server on their own."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from reame_core.engine.events import Event, Finished, TextDelta, Timings, Usage
from reame_core.errors import InvalidRequest
from reame_core.server.generation.mailbox import Mailbox, merged
from reame_core.server.pace import Pace
from reame_core.server.wire.reading import read


class Inner(msgspec.Struct):
    count: int | None = None


class Sample(msgspec.Struct):
    name: str
    count: int | None = None
    share: float | None = None
    inner: Inner | None = None
    names: str | list[str] | None = None


def test_reading_is_lenient() -> None:
    given = {
        "name": "a",
        "count": 3.0,
        "share": 1,
        "inner": {"count": 2.0, "odd": 1},
        "names": None,
        "more": [1],
    }
    assert read(Sample, given) == (Sample("a", 3, 1.0, Inner(2)), {"inner.odd": 1, "more": [1]})
    assert read(Sample, {"name": "a", "unknown": None}) == (Sample("a"), {})


@pytest.mark.parametrize(
    ("given", "param", "message"),
    [
        ({}, "name", "name is missing"),
        ({"name": None}, "name", "name is missing"),
        ({"name": 1}, "name", "name must be a text, not a whole number"),
        ({"name": "a", "count": 1.5}, "count", "count must be a whole number or null, not a number"),
        ({"name": "a", "count": "1"}, "count", "count must be a whole number or null, not a text"),
        ({"name": "a", "inner": []}, "inner", "inner must be an object or null, not a list"),
        (
            {"name": "a", "inner": {"count": "x"}},
            "inner.count",
            "inner.count must be a whole number or null, not",
        ),
        ({"name": "a", "names": [1]}, "names[0]", "names[0] must be a text, not a whole number"),
        ({"name": "a", "names": 1}, "names", "names must be a text or a list or null, not a whole number"),
    ],
)
def test_refusals_name_the_place(given: dict[str, Any], param: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(Sample, given)
    assert caught.value.param == param
    assert str(caught.value).startswith(message)


def finished(choice: int) -> Finished:
    return Finished(choice, "stop", Usage(1, 1, 1), Timings(0, 0, 0))


def test_deltas_of_a_choice_are_merged_in_order() -> None:
    events: list[Event] = [
        TextDelta(0, "a", (1,)),
        TextDelta(1, "x", (9,)),
        TextDelta(0, "b", (2, 3)),
        finished(0),
        TextDelta(1, "y", (8,)),
    ]
    assert merged(events) == [TextDelta(0, "ab", (1, 2, 3)), finished(0), TextDelta(1, "xy", (9, 8))]
    assert merged([]) == []


def test_a_mailbox_hands_over_wakes_and_gives_up_waiting() -> None:
    async def scenario() -> None:
        mailbox = Mailbox(10, lambda: None)
        mailbox.put([TextDelta(0, "a")])
        mailbox.put([TextDelta(0, "b")])
        assert await mailbox.take() == [TextDelta(0, "ab")]
        assert await mailbox.take(0.0) == []
        asyncio.get_running_loop().call_soon(mailbox.wake)
        assert await mailbox.take() == []
        asyncio.get_running_loop().call_soon(mailbox.put, [finished(0)])
        assert await mailbox.take() == [finished(0)]
        mailbox.close()
        mailbox.put([finished(0)])
        assert await mailbox.take(0.0) == []

    asyncio.run(scenario())


def test_a_mailbox_notices_that_nobody_reads() -> None:
    async def scenario() -> None:
        stalled = asyncio.Event()
        mailbox = Mailbox(0.001, stalled.set)
        mailbox.put([TextDelta(0, "a")])
        await stalled.wait()

    asyncio.run(scenario())


def test_the_pace_is_what_was_measured() -> None:
    now = [100.0]
    pace = Pace(lambda: now[0])
    assert pace.retry_after(5) == 5
    for _ in range(10):
        now[0] += 2
        pace.ended()
    assert pace.retry_after(0) == 2
    assert pace.retry_after(40) == 8
    assert pace.retry_after(100_000) == 120
    for _ in range(200):
        now[0] += 0.01
        pace.ended()
    assert pace.retry_after(40) == 1
