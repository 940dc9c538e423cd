"""Engines on the fake backend with the plugins' hooks, and generations by the handful."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from reame_palimpsest.archive_plugin import ArchivePlugin
from reame_palimpsest.generations import Generation, Tokens
from reame_palimpsest.lookup_plugin import LookupPlugin

from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.plugins.api import PluginContext
from reame_core.testing import FakeBackend
from tests.engine.support import Answer, hook

TOKENIZER = "0123456789abcdef" * 2


def tokens(*values: int) -> Tokens:
    return np.array(values, np.int32)


def said(prompt: list[int], answer: list[int], *, key: int = 0, time: int = 1) -> Generation:
    """A generation whose prompt is ``prompt``."""
    return Generation(tokens(*prompt, *answer), len(prompt), key, time)


def random_generations(count: int, seed: int = 0, length: int = 40, words: int = 1000) -> list[Generation]:
    """Of about ``length`` tokens each, one a second, no two with the same prompt."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        size = int(random.integers(length // 2, length * 3 // 2))
        text = random.integers(0, words, size).astype(np.int32)
        made.append(Generation(text, int(random.integers(0, size // 2)), seed << 32 | number, 1000 + number))
    return made


class Plugins:
    """Both plugins, started, and what the engine calls of them."""

    def __init__(self, folder: Path, backend: FakeBackend | None = None, **options: object) -> None:
        self.archive = ArchivePlugin()
        self.lookup = LookupPlugin()
        info = (backend or FakeBackend()).info
        tokenizer = str(options.pop("tokenizer", "fake"))
        table = {"folder": str(folder), **options}
        self.archive.startup(PluginContext(info, table, {"model": "fake model"}, tokenizer))
        self.lookup.startup(PluginContext(info, {}))
        self.hooks = EngineHooks(
            on_prefill=hook(self.archive.on_prefill),
            propose_draft=GuardedHook(
                (
                    *hook(self.archive.propose_draft, name="palimpsest").calls,
                    *hook(self.lookup.propose_draft, name="prompt-lookup").calls,
                )
            ),
            persist=hook(self.archive.persist, self.lookup.persist),
        )

    def flush(self) -> None:
        """What has ended is searchable now."""
        service = self.archive._service
        assert service is not None
        assert service.archive.flush()

    def close(self) -> None:
        self.archive.shutdown()


def drafted(answer: Answer, source: str = "palimpsest") -> int:
    """Tokens of one source's drafts that were computed."""
    return answer.usage.drafts.get(source, (0, 0))[0]


def accepted(answer: Answer, source: str = "palimpsest") -> int:
    """Those of them that were right."""
    return answer.usage.drafts.get(source, (0, 0))[1]


@contextmanager
def plugins(folder: Path, **options: object) -> Iterator[Plugins]:
    started = Plugins(folder, **options)
    try:
        yield started
    finally:
        started.close()
