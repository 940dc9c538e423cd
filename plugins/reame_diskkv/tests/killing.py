"""Run as a program: what writes is killed at any line of its code, and what that leaves is looked at.

python killing.py store|server|copy FOLDER ROUNDS SEED

With ``copy`` the blocks of the cache in FOLDER/whole are written to FOLDER/0, FOLDER/1, ..., and somebody else
looks at them.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import reame_diskkv
from reame_diskkv.counts import Counts
from reame_diskkv.folder import SHARDS, BlockFolder
from reame_diskkv.reading import BlockReader
from reame_diskkv.room import Limits
from reame_diskkv.store import Store

from plugins.reame_diskkv.tests.driver import branch, plain, request, server, words
from plugins.reame_diskkv.tests.stores import TestStore

PROMPTS = [list(range(start, start + 11)) for start in (10, 200, 300)]
PROMPTS += [[*PROMPTS[0][:9], 77, 78, 79], [*PROMPTS[0], 5]]
PACKAGE = str(Path(reame_diskkv.__file__).parent)


SIZE = 60_000
LIMIT = 700000
"""Too little for everything."""


def write_everything(folder: Path) -> Counts:
    store = TestStore(folder, LIMIT)
    store.sweep()
    for prompt in PROMPTS:
        store.put(prompt, SIZE)
        store.use(prompt[:4])
    store.store.expire()
    store.close()
    return store.counts


class LineCounter:
    """Counts lines of the package that are executed, and kills the process at one of them."""

    def __init__(self, fatal: int = -1) -> None:
        self.lines = 0
        self._fatal = fatal

    def install(self) -> None:
        """For this thread and those that are started from now on."""
        sys.settrace(self)
        threading.settrace(self)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._fatal:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def look_at_the_store(folder: Path) -> None:
    store = TestStore(folder)
    [verdict] = store.store._opened().run("PRAGMA integrity_check")
    assert verdict == ("ok",), verdict
    store.sweep()
    store.check()
    assert not list((folder / "parts").iterdir()), "stray files"
    for prompt in PROMPTS:
        store.found(prompt)  # reads and compares whatever is there
    for prompt in PROMPTS:
        assert store.put(prompt, SIZE)
        assert store.found(prompt) == len(prompt)
    assert not store.warnings, store.warnings
    store.close()


QUESTIONS = [words(90), branch(words(90), 40, 90)]
EXPECTED = [plain(request(question, 2))[0] for question in QUESTIONS]


def ask_everything(folder: Path) -> Counts:
    """As a server that is killed while it answers: the engine's thread, the writer's and those that read."""
    with server(folder, options={"max_size_mb": 1}, residents=1) as each:
        for question, expected in zip(QUESTIONS, EXPECTED, strict=True):
            assert each.ask(question, 2).said == expected
        counts: Counts = each.counts
    return counts


def look_at_the_server(folder: Path) -> None:
    ask_everything(folder)
    counts = ask_everything(folder)
    assert counts.hits == len(QUESTIONS)
    assert counts.written_blocks == 0
    assert not counts.failures, counts.failures


def lines_of_a_run(run: Callable[[Path], Counts], folder: Path) -> int:
    counter = LineCounter()
    counter.install()
    counts = run(folder)
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    assert counts.written_blocks >= 4
    return counter.lines


def killed_at(run: Callable[[Path], object], line: int, folder: Path) -> bool:
    child = os.fork()
    if child == 0:
        LineCounter(line).install()
        run(folder)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def write_copy(folder: Path) -> Counts:
    source, counts = BlockFolder(folder.with_name("whole")), Counts()
    reader, found = BlockReader(source), []
    for shard in range(SHARDS):
        for key, _, _ in source.blocks_of(shard):
            block, state = reader.read(key)
            found.append((block, bytes(state)))
    store = Store(BlockFolder(folder), Limits(10**9), counts, print)
    for block, state in sorted(found, key=lambda item: item[0].start):
        store.put(block, state)
    store.close()
    return counts


def main() -> None:
    what, folder, rounds, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    run = {"store": write_everything, "server": ask_everything, "copy": write_copy}[what]
    look = {"store": look_at_the_store, "server": look_at_the_server}.get(what)
    lines = lines_of_a_run(run, folder / "counted")
    points = random.Random(seed)
    killed = 0
    for number in range(rounds):
        # Every other round goes on where the one before was killed.
        place = folder / str(number // 2 if look else number)
        # The last of them at the very end, when everything is there.
        line = points.randrange(1, lines) if number < rounds - 1 else lines - 1
        killed += killed_at(run, line, place)
        if look and number % 2:
            look(place)
    print(f"{killed} killed in {lines} lines")


if __name__ == "__main__":
    main()
