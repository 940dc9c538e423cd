"""Real models: greedy answers with proposals are those without, token for token."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from reame_suggeritore import Suggeritore

from plugins.reame_suggeritore.tests.corpus import ANSWERS
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, TextDelta
from reame_core.engine.exactness import find_exact_shapes
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import Request, SamplingParams
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.models.catalogue import resolve
from reame_core.models.prompt import raw_tokens
from reame_core.plugins.api import PluginContext

pytestmark = pytest.mark.model

NAME = "suggeritore"
TOKENS = 10
BEGUN = 0.6
"""How much of each answer of the corpus the model is given to go on with."""


@pytest.fixture(scope="module")
def smollm2() -> Iterator[LlamaBackend]:
    """One thread and at most 63 rows: any two batches compute bit-identical rows, wherever the cells lie."""
    path = resolve("smollm2-135m").path
    backend = LlamaBackend(path, LlamaOptions(kv_cells=1024, threads=1, max_rows=63, max_outputs=63))
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def qwen() -> Iterator[LlamaBackend]:
    path = Path(os.environ.get("REAME_TEST_MODELS", "."), "qwen2.5-coder-0.5b.gguf")
    if not path.exists():
        pytest.skip(f"REAME_TEST_MODELS names no folder with {path.name}")
    backend = LlamaBackend(path, LlamaOptions(kv_cells=2048, threads=2))
    yield backend
    backend.close()


def hooks_of(backend: LlamaBackend) -> EngineHooks:
    plugin = Suggeritore()
    plugin.startup(PluginContext(backend.info, {}, piece=backend.piece, tokenize=backend.tokenize))
    return EngineHooks(
        propose_draft=GuardedHook(((NAME, plugin.propose_draft),)),
        persist=GuardedHook(((NAME, plugin.persist),)),
    )


def answered(engine: Engine, request: Request) -> tuple[list[int], int]:
    """The tokens of the answer, and how many of them were drafted."""
    events: list[Event] = []
    group = engine.submit(request, events.extend)
    while not engine.idle:
        engine.step()
    tokens = [token for event in events if isinstance(event, TextDelta) for token in event.tokens]
    return tokens, group.sequences[0].drafts.get(NAME, (0, 0))[1]


def begun(backend: LlamaBackend, text: str) -> tuple[int, ...]:
    return raw_tokens(backend, text[: int(BEGUN * len(text))])


def compare(backend: LlamaBackend, options: EngineOptions, requests: list[Request]) -> int:
    """Each request with and without proposals on the same engine; how many drafted tokens were right."""
    backend.clear()
    engine = Engine(backend, options, hooks_of(backend))
    right = 0
    for request in requests:
        expected, _ = answered(engine, replace(request, speculate=False))
        tokens, drafted = answered(engine, request)
        assert tokens == expected
        right += drafted
    return right


def test_greedy_answers_of_every_form(smollm2: LlamaBackend) -> None:
    requests = [
        Request(prompt=begun(smollm2, text), max_tokens=TOKENS, ignore_end=number % 2 == 0)
        for number, text in enumerate(ANSWERS.values())
    ]
    assert len(requests) >= 60
    options = EngineOptions(context_length=256, max_rows=63, price_drafts=False)
    assert compare(smollm2, options, requests) > len(requests) / 2


def test_sampled_and_penalised_answers(smollm2: LlamaBackend) -> None:
    forms = ("numbers and dots", "json, pretty", "a table", "records")
    requests = [
        Request(prompt=begun(smollm2, ANSWERS[form]), max_tokens=TOKENS, sampling=sampling)
        for form in forms
        for sampling in (SamplingParams(temperature=0.8, seed=5), SamplingParams(frequency_penalty=1.2))
    ]
    options = EngineOptions(context_length=256, max_rows=63, price_drafts=False)
    assert compare(smollm2, options, requests) > 4


def test_exact_mode(qwen: LlamaBackend) -> None:
    shapes = find_exact_shapes(
        qwen, qwen.tokenize("The quick brown fox jumps over the lazy dog. In 1984, seven men.")
    )
    requests = [
        Request(prompt=begun(qwen, text), max_tokens=TOKENS, ignore_end=True)
        for text in list(ANSWERS.values())[::4]
    ]
    options = EngineOptions(context_length=256, price_drafts=False, exact=shapes)
    assert compare(qwen, options, requests) > len(requests) / 2
