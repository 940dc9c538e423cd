"""Many requests while the store comes and goes: nothing is lost, nothing is wrong.

``REAME_SOAK=10000`` asks so many questions instead of a few hundred.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from typing import Any

import httpx

from plugins.reame_arca.tests.fleet import CHAT, Member, chat_body, fleet, recalled, said
from plugins.reame_arca.tests.real_store import PATIENCE, RealStore, wait_until

QUESTIONS = int(os.environ.get("REAME_SOAK", "400"))
DIFFERENT = 60
AT_ONCE = 12
BEAT_S = 0.05
HARMS = ("restart", "kill", "pause", "fill")


def fields(number: int) -> dict[str, Any]:
    """For ``Member.chat``."""
    return {"text": f"Question {number}", "max_tokens": 4 + number % 20}


def harm(store: RealStore, way: str) -> None:
    if way == "kill":
        store.kill()
    elif way == "pause":
        store.pause()
    elif way == "fill":
        store.fill()
    else:
        store.restart()


class Soak:
    """Asks ``members`` in turn, several at once, and keeps what differs from what is right."""

    def __init__(self, members: list[Member]) -> None:
        self.right = [
            said(members[0].chat(**fields(number), cache_prompt=False)) for number in range(DIFFERENT)
        ]
        self.members = members
        self.left = QUESTIONS
        self.wrong: list[str] = []
        self.recalled = 0
        self.worst_s = 0.0
        self.stood_still_s = 0.0
        """Longest that this process did nothing at all: what was asked then says nothing of the servers."""
        self.done = asyncio.Event()

    async def run(self, store: RealStore) -> None:
        chaos = asyncio.create_task(self._chaos(store))
        beats = asyncio.create_task(self._beat())
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            await asyncio.gather(*(self._ask(client, worker) for worker in range(AT_ONCE)))
        self.done.set()
        await asyncio.gather(chaos, beats)

    async def _ask(self, client: httpx.AsyncClient, worker: int) -> None:
        chance = random.Random(worker)
        while self.left > 0:
            self.left -= 1
            member = self.members[chance.randrange(len(self.members))]
            number = chance.randrange(DIFFERENT)
            begun = time.monotonic()
            response = await client.post(member.url + CHAT, json=chat_body(**fields(number)))
            self.worst_s = max(self.worst_s, time.monotonic() - begun)
            if response.status_code != 200:
                self.wrong.append(f"{response.status_code}: {response.text}")
                continue
            answer = response.json()
            self.recalled += recalled(answer)
            if said(answer) != self.right[number]:
                self.wrong.append(f"question {number}: {answer}")

    async def _beat(self) -> None:
        while not self.done.is_set():
            begun = time.monotonic()
            await asyncio.sleep(BEAT_S)
            self.stood_still_s = max(self.stood_still_s, time.monotonic() - begun - BEAT_S)

    async def _chaos(self, store: RealStore) -> None:
        """Something else every second, and well again after another one."""
        for way in HARMS * QUESTIONS:
            await asyncio.to_thread(harm, store, way)
            if await self._over():
                break
            await asyncio.to_thread(store.restart)
            if await self._over():
                break

    async def _over(self) -> bool:
        try:
            await asyncio.wait_for(self.done.wait(), 1.0)
        except TimeoutError:
            return False
        return True


def test_nothing_is_lost_and_nothing_is_wrong(store: RealStore) -> None:
    with fleet(2, store.url, timeout_ms=200) as members:
        soak = Soak(members)
        asyncio.run(soak.run(store))
        assert not soak.wrong
        assert soak.recalled > 0
        store.restart()
        for member in members:
            wait_until(lambda member=member: recalled(member.chat(**fields(0))))
        print(
            f"{QUESTIONS} questions, {soak.recalled} recalled, the slowest took {soak.worst_s:.1f} s; at worst"
            f" this process itself stood still for {soak.stood_still_s:.1f} s"
        )
