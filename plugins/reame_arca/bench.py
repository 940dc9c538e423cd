"""How long a recalled answer takes, end to end over HTTP on this machine, against a computed one.

    python -m plugins.reame_arca.bench [--json] [--hits 300]

The fake model computes in microseconds, so that what is left is the way through the server and the store. Two
servers run in processes of their own; a real store is started on a free port and stopped at the end. Figures
are the median and the 95th percentile, in milliseconds, over one connection that is kept open. To be run from
the root of the repository.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from plugins.reame_arca.tests.fleet import CHAT, Member, chat_body, fleet, recalled
from plugins.reame_arca.tests.real_store import real_store, wait_until

WARM_UP = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", dest="as_json")
    parser.add_argument("--hits", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, real_store(Path(folder)) as store:
        with fleet(2, store.url, timeout_ms=50) as (one, two):
            found = {
                "short answer (24 tokens)": measure(one, two, arguments.hits, max_tokens=24),
                "long answer (400 tokens)": measure(one, two, arguments.hits, max_tokens=400),
                "long prompt (400 tokens)": measure(one, two, arguments.hits, text="x" * 380, max_tokens=8),
                "encrypted": {},
            }
        with fleet(2, store.url, timeout_ms=50, secret="a secret that nobody guesses") as (one, two):
            found["encrypted"] = measure(one, two, arguments.hits, max_tokens=24)
        with fleet(1, store.url, timeout_ms=10) as [alone]:
            found["misses"] = misses(alone, arguments.hits)
            store.kill()
            for number in range(WARM_UP):
                alone.chat(f"opens the breaker {number}")
            found["misses, store away"] = misses(alone, arguments.hits)
    if arguments.as_json:
        print(json.dumps(found, indent=2))
        return
    for name, figures in found.items():
        print(f"{name}: " + ", ".join(f"{what} {value:.2f}" for what, value in figures.items()))


def measure(one: Member, two: Member, count: int, *, text: str = "Tell me", **fields: Any) -> dict[str, float]:
    """``one`` computes, ``two`` recalls; and the plain way beside it."""
    one.chat(text, **fields)
    wait_until(lambda: recalled(two.chat(text, **fields)))
    body = chat_body(text, **fields)
    hits = timed(lambda _: two.http.post(CHAT, json=body), count)
    streamed = timed(lambda _: two.http.post(CHAT, json=body | {"stream": True}), count)
    return {**figures("hit", hits), **figures("hit streamed", streamed)}


def misses(member: Member, count: int) -> dict[str, float]:
    """What asking costs where nothing is known: new questions, with the store and past it."""
    begun = time.monotonic()
    asked = timed(lambda number: member.chat(f"{begun} {number}", max_tokens=1), count)
    past = timed(
        lambda number: member.chat(f"{begun} {number} past", max_tokens=1, reame={"arca": False}), count
    )
    return {**figures("asked", asked), **figures("not asked", past)}


def timed(ask: Callable[[int], object], count: int) -> list[float]:
    """Milliseconds of each call."""
    for number in range(WARM_UP):
        ask(-number - 1)
    took = []
    for number in range(count):
        begun = time.perf_counter()
        ask(number)
        took.append(1000 * (time.perf_counter() - begun))
    return took


def figures(name: str, took: list[float]) -> dict[str, float]:
    return {f"{name} p50": statistics.median(took), f"{name} p95": statistics.quantiles(took, n=20)[18]}


if __name__ == "__main__":
    main()
