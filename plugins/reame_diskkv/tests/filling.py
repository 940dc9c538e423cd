"""Run as a program: one of several processes that fill a folder at the same time.

python filling.py FOLDER NUMBER
"""

from __future__ import annotations

import sys
from pathlib import Path

from plugins.reame_diskkv.tests.stores import TestStore

SHARED = list(range(8))
PROMPTS = 60


def prompt(number: int, process: int) -> list[int]:
    """Every third is the same in all processes."""
    return [*SHARED, 100 + number, process if number % 3 else 9, 1, 2]


def main() -> None:
    store, process = TestStore(Path(sys.argv[1])), int(sys.argv[2])
    print("ready", flush=True)
    sys.stdin.readline()
    store.store.find_sessions()
    for number in range(PROMPTS):
        assert store.put(prompt(number, process)), store.warnings
        assert store.found(prompt(number, process)) == 12
    store.sweep()
    assert not store.warnings, store.warnings
    store.close()


if __name__ == "__main__":
    main()
