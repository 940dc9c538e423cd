"""Run as a program: writers are killed at any line of their code, and what they leave is looked at.

python killing.py FOLDER ROUNDS SEED
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import reame_diskkv

from plugins.reame_diskkv.tests.stores import TestStore

PROMPTS = [list(range(start, start + 11)) for start in (10, 200, 300)]
PROMPTS += [[*PROMPTS[0][:9], 77, 78, 79], [*PROMPTS[0], 5]]
PACKAGE = str(Path(reame_diskkv.__file__).parent)


SIZE = 60_000
LIMIT = 700000
"""Too little for everything."""


def write_everything(folder: Path) -> TestStore:
    store = TestStore(folder, LIMIT)
    store.sweep()
    for prompt in PROMPTS:
        store.put(prompt, SIZE)
        store.use(prompt[:4])
    store.store.expire()
    store.close()
    return store


class LineCounter:
    """Counts lines of the package that are executed, and kills the process at one of them."""

    def __init__(self, fatal: int = -1) -> None:
        self.lines = 0
        self._fatal = fatal

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._fatal:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def lines_of_a_run(folder: Path) -> int:
    counter = LineCounter()
    sys.settrace(counter)
    store = write_everything(folder)
    sys.settrace(None)
    assert store.counts.written_blocks > 10
    assert store.counts.evicted > 2
    return counter.lines


def killed_at(line: int, folder: Path) -> bool:
    child = os.fork()
    if child == 0:
        sys.settrace(LineCounter(line))
        write_everything(folder)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def look_at(folder: Path) -> None:
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


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    lines = lines_of_a_run(folder / "whole")
    points = random.Random(seed)
    killed = 0
    for number in range(rounds):
        # Every other round goes on where the one before was killed.
        place = folder / str(number // 2)
        killed += killed_at(points.randrange(1, lines), place)
        if number % 2 == 0:
            continue
        look_at(place)
    print(f"{killed} killed in {lines} lines")


if __name__ == "__main__":
    main()
