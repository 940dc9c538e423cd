"""Many clients at once, a good part of them rude: every polite one gets its right answer, nothing leaks."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
from pathlib import Path
from typing import Any

import httpx
import psutil
import structlog

from reame_core.testing import FakeBackend
from tests.server.support import FakeModel, Running, chat_body, content_of, events_of, running

CHAT = "/v1/chat/completions"
REQUESTS = int(os.environ.get("REAME_SOAK", "2000"))
"""Some 20 seconds of computing, and more than a minute beside other processes."""
AT_ONCE = 64
GROWTH_MB = 24
"""What the process may grow by between the first and the last quarter: buffers of allocators, and the log that
tests capture. A leak of one answer's data each (some 20 KB) would be more."""
PROMPTS = [f"Question {number}: " + "tell me more " * number for number in range(8)]
MALFORMED: list[Any] = [
    {"temperature": -1},
    {"messages": []},
    {"model": "no"},
    {"max_tokens": 0},
    {"messages": [{"role": "user", "content": "x" * 3000}]},
]


def body_of(number: int) -> dict[str, Any]:
    return chat_body(PROMPTS[number % len(PROMPTS)], seed=number % 5, max_tokens=24, ignore_eos=True)


async def polite(client: httpx.AsyncClient, number: int, expected: dict[int, str]) -> None:
    whole = number % 2 == 0
    response = await client.post(CHAT, json=body_of(number) | {"stream": not whole})
    assert response.status_code == 200, response.text
    text = (
        response.json()["choices"][0]["message"]["content"] if whole else content_of(events_of(response.text))
    )
    assert text == expected[number % 40]


async def malformed(client: httpx.AsyncClient, number: int) -> None:
    response = await client.post(CHAT, json=body_of(number) | MALFORMED[number % len(MALFORMED)])
    assert response.status_code in (400, 404)


async def leaving(client: httpx.AsyncClient, number: int, chance: random.Random) -> None:
    body = body_of(number) | {"stream": True, "n": 1 + number % 3}
    async with client.stream("POST", CHAT, json=body) as response:
        left = chance.randrange(12)
        async for _ in response.aiter_raw(64):
            left -= 1
            if left < 0:
                break


async def slow(client: httpx.AsyncClient, number: int, expected: dict[int, str]) -> None:
    async with client.stream("POST", CHAT, json=body_of(number) | {"stream": True}) as response:
        received = b""
        async for piece in response.aiter_raw(16):
            received += piece
            await asyncio.sleep(0)
    assert content_of(events_of(received.decode())) == expected[number % 40]


async def everybody(url: str, expected: dict[int, str], count: int) -> None:
    chance = random.Random(count)
    room = asyncio.Semaphore(AT_ONCE)
    limits = httpx.Limits(max_connections=AT_ONCE)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:

        async def one(number: int) -> None:
            async with room:
                match chance.randrange(9):
                    case 0:
                        await malformed(client, number)
                    case 1:
                        await leaving(client, number, chance)
                    case 2:
                        await slow(client, number, expected)
                    case _:
                        await polite(client, number, expected)

        await asyncio.gather(*(one(number) for number in range(count)))


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def tasks(server: Running) -> int:
    return int(server.on_loop(lambda: len(asyncio.all_tasks())))


def test_nobody_hurts_anybody_and_nothing_leaks() -> None:
    model = FakeModel(FakeBackend(cells=3000, max_sequences=12), queue=1000)
    with running(model) as server:
        expected = {
            number: server.http.post(CHAT, json=body_of(number)).json()["choices"][0]["message"]["content"]
            for number in range(40)
        }
        gc.collect()
        before = tasks(server), threading.active_count(), open_files()
        memory = []
        for _ in range(4):
            asyncio.run(everybody(server.url, expected, REQUESTS // 4))
            structlog.get_config()["processors"][0].entries.clear()
            gc.collect()
            memory.append(psutil.Process().memory_info().rss / 1e6)
        server.wait_until_idle()
        server.wait_until(lambda: len(asyncio.all_tasks()) <= before[0] + 1)
        gc.collect()
        assert memory[-1] - memory[0] < GROWTH_MB, memory
        assert threading.active_count() <= before[1]
        assert open_files() <= before[2] + 2
        ledger = model.worker.engine.memory.ledger
        assert model.worker.engine.memory.promised == 0
        assert ledger.used <= ledger.capacity
        assert not model.worker.engine.running
