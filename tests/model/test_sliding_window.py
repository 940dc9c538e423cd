"""A sliding-window model is right beyond its window: llama.cpp reuses cells that have left it, so not every
prefix that was computed is still there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from reame_core.engine.backend import Rows
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, Finished, TextDelta
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import Request
from reame_core.llama.backend import LlamaBackend, LlamaOptions

from .tiny_models import SLIDING_WINDOW, write_sliding_window

pytestmark = pytest.mark.model
LENGTHS = (SLIDING_WINDOW - 10, SLIDING_WINDOW + 10, 3 * SLIDING_WINDOW)
ANSWER = 24


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaBackend]:
    path = write_sliding_window(Path(tmp_path_factory.mktemp("models"), "gemma.gguf"))
    backend = LlamaBackend(path, LlamaOptions(kv_cells=512, threads=1, max_sequences=12, max_rows=63))
    yield backend
    backend.close()


def prompt(length: int, seed: int = 0) -> tuple[int, ...]:
    letters = np.random.default_rng(seed).integers(3 + 97, 3 + 123, size=length - 1)
    return (1, *letters.tolist())


class Runner:
    def __init__(self, backend: LlamaBackend, hooks: EngineHooks | None = None) -> None:
        backend.clear()
        self.engine = Engine(backend, EngineOptions(context_length=256, parallel=3, max_rows=63), hooks)

    def answers(self, *prompts: tuple[int, ...]) -> list[tuple[list[int], Finished]]:
        logs: list[list[Event]] = []
        for tokens in prompts:
            logs.append([])
            self.engine.submit(Request(prompt=tokens, max_tokens=ANSWER, ignore_end=True), logs[-1].extend)
        while self.engine.step():
            pass
        ends = [log[-1] for log in logs]
        assert all(isinstance(end, Finished) for end in ends)
        return [
            ([t for e in log if isinstance(e, TextDelta) for t in e.tokens], end)
            for log, end in zip(logs, ends, strict=True)
        ]


def test_the_window_is_known_and_matters(gemma: LlamaBackend) -> None:
    assert gemma.info.window == SLIDING_WINDOW
    lines = []
    for first in (1, 2):  # two prompts that differ only in a token far outside the window
        gemma.clear()
        rows = Rows()
        tokens = [first, *prompt(60)[1:]]
        rows.add(0, 0, tokens, logits_from=59)
        gemma.decode(rows)
        lines.append(gemma.logits()[0].copy())
    assert not np.array_equal(*lines), "one layer in six still sees it"


@pytest.mark.parametrize("length", LENGTHS)
def test_repeated_and_branching_prompts_equal_cold_ones(gemma: LlamaBackend, length: int) -> None:
    base = prompt(length)
    branch = (*base[: length - 5], *prompt(12, seed=5)[1:])
    cold = {p: Runner(gemma).answers(p)[0][0] for p in (base, branch)}
    runner = Runner(gemma)
    for tokens in (base, base, branch, base, branch):
        answer, end = runner.answers(tokens)[0]
        assert answer == cold[tokens]
        assert end.usage.computed + sum(end.usage.reused.values()) == len(tokens)
    together = Runner(gemma).answers(base, branch, base)
    assert [answer for answer, _ in together] == [cold[base], cold[branch], cold[base]]


def test_an_exact_repeat_is_remembered_even_beyond_the_window(gemma: LlamaBackend) -> None:
    runner = Runner(gemma)
    tokens = prompt(3 * SLIDING_WINDOW)
    runner.answers(tokens)
    _, end = runner.answers(tokens)[0]
    assert end.usage.computed == 1


def test_many_long_generations_in_little_memory(gemma: LlamaBackend) -> None:
    """Cells are reused again and again; every answer is the cold one."""
    prompts = [prompt(40 + 7 * i, seed=i) for i in range(8)]
    cold = [Runner(gemma).answers(tokens)[0][0] for tokens in prompts]
    runner = Runner(gemma)
    for _ in range(2):
        assert [answer for answer, _ in runner.answers(*prompts)] == cold


@pytest.mark.parametrize("length", LENGTHS)
def test_exported_cells_continue_like_computed_ones(gemma: LlamaBackend, length: int) -> None:
    states: list[bytes] = []

    def persist(sequence, kv, stage):
        if not states:
            states.append(kv.export(0, length - 1))

    def on_prefill(sequence, kv):
        return length - 1 if kv.restore(length - 1, states[0]) else None

    tokens = prompt(length)
    keeping = EngineHooks(persist=GuardedHook((("store", persist),)))
    restoring = EngineHooks(on_prefill=GuardedHook((("store", on_prefill),)))
    cold, _ = Runner(gemma, keeping).answers(tokens)[0]
    restored, end = Runner(gemma, restoring).answers(tokens)[0]
    assert end.usage.reused == {"store": length - 1}
    assert restored == cold


@pytest.mark.parametrize("length", LENGTHS)
def test_a_part_of_a_block_continues_like_computed_cells(gemma: LlamaBackend, length: int) -> None:
    block = 8
    common = (length - 1) // block * block - 3
    states: dict[int, bytes] = {}

    def persist(sequence, kv, stage):
        for end in range(block, length, block):
            states.setdefault(end, kv.export(end - block, end))

    def on_prefill(sequence, kv):
        while kv.length < common:
            end = kv.length + block
            assert kv.restore(end, states[end], min(end, common))
        return kv.length

    tokens = prompt(length)
    branch = (*tokens[:common], *prompt(20, seed=6)[1:])
    keeping = EngineHooks(persist=GuardedHook((("store", persist),)))
    restoring = EngineHooks(on_prefill=GuardedHook((("store", on_prefill),)))
    Runner(gemma, keeping).answers(tokens)
    cold, _ = Runner(gemma).answers(branch)[0]
    restored, end = Runner(gemma, restoring).answers(branch)[0]
    assert end.usage.reused == {"store": common}
    assert restored == cold
