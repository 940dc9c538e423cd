"""Which layer of Reame a stack belongs to, by the innermost function of ours on it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

LLAMA, SAMPLING, SCHEDULING, HOOKS, HTTP, OTHER, WAITING = (
    "llama.cpp",
    "sampling",
    "scheduling",
    "hooks",
    "HTTP",
    "other",
    "waiting",
)
LAYERS = (LLAMA, SAMPLING, SCHEDULING, HOOKS, HTTP, OTHER)

_PLACES = (
    # Innermost first: the first that a frame's file has decides.
    ("reame_core/llama/", LLAMA),
    ("reame_core/engine/sampling", SAMPLING),
    ("reame_core/engine/verification", SAMPLING),
    ("reame_core/engine/noise", SAMPLING),
    ("reame_core/plugins/", HOOKS),
    ("reame_palimpsest/", HOOKS),
    ("reame_diskkv/", HOOKS),
    ("reame_suggeritore/", HOOKS),
    ("reame_conclave/", HOOKS),
    ("reame_draftmodel/", HOOKS),
    ("reame_memo/", HOOKS),
    ("reame_core/engine/", SCHEDULING),
    ("reame_core/server/", HTTP),
    ("litestar/", HTTP),
    ("uvicorn/", HTTP),
    ("asyncio/", HTTP),
)
_ENGINE = "reame_core/engine/worker.py"
"""On every stack of the engine thread."""
_IDLE = re.compile(r"(\w+\.)*(wait|select|get|accept) \(.*\b(threading|selectors|queue|socket)\.py")
"""Of functions with the names of their classes or without."""


@dataclass(slots=True)
class Shares:
    """Samples by layer and, within layers, by function."""

    layers: Counter[str] = field(default_factory=Counter)
    functions: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.layers.values())


def read(stacks: str, *, engine_thread: bool) -> Shares:
    """Of the engine thread's samples, or of all others'. ``stacks``: one a line, outermost frame first,
    separated by semicolons, then a space and how often it was seen. Frames look like ``function
    (path/file.py:12)``."""
    shares = Shares()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        if not count.isdigit() or (_ENGINE in stack) != engine_thread:
            continue
        layer, function = place(stack.split(";"))
        if layer != WAITING:
            shares.layers[layer] += int(count)
            shares.functions[layer, function] += int(count)
    return shares


def place(frames: list[str]) -> tuple[str, str]:
    """The layer of a stack and the function it counts for."""
    if _IDLE.match(frames[-1]):
        return WAITING, frames[-1]
    for frame in reversed(frames):
        for folder, layer in _PLACES:
            if folder in frame:
                return layer, _short(frame)
    return OTHER, _short(frames[-1])


def _short(frame: str) -> str:
    """``function (file.py)`` without the folders and the line."""
    function, _, where = frame.partition(" (")
    return f"{function} ({where.rpartition('/')[2].split(':')[0].rstrip(')')})"
