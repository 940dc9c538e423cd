"""What the mask of each token of an invoice costs, made and put on the logits, against half a millisecond; and
what is done once: the vocabulary, the schema."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from reame_suggeritore.structured.service import Structure

from bench.case import open_backend
from bench.report import Figure, Result, Target
from bench.rounds import median, percentile
from bench.speculation.stage import Stage
from bench.structured.documents import FORMAT
from reame_core.engine.constraining import Constrained
from reame_core.llama.backend import LlamaBackend
from reame_core.llama.model import WeightBuffers
from reame_core.plugins.api import ApiRequest, PluginContext

CELLS = 512
_ITEM = {"description": "Garden hose 25 m", "quantity": 3, "unit_price": 34.9}
_ANSWER = {
    "vendor": "Kessler & Daughters, Inverness",
    "invoice_number": "2024/0056",
    "date": "2024-07-30",
    "currency": "USD",
    "items": [_ITEM, _ITEM],
    "subtotal": 66.8,
    "tax": 5.34,
    "total": 72.14,
}
T = TypeVar("T")


def measure(stage: Stage, result: Result) -> None:
    backend = open_backend(stage.path, stage.threads, WeightBuffers(), CELLS)
    try:
        _measure(backend, stage.rounds, result)
    finally:
        backend.close()


def _measure(backend: LlamaBackend, rounds: int, result: Result) -> None:
    info = backend.info
    structure = Structure(PluginContext(info, {}, piece=backend.piece, tokenize=backend.tokenize))
    tokens = backend.tokenize(json.dumps(_ANSWER))
    vocabulary, _ = _timed(lambda: structure.tokenizer.built)
    request = ApiRequest("chat", {"response_format": FORMAT}, n=1, streamed=False)
    compiling, service = _timed(lambda: structure.serve(request))
    again, _ = _timed(lambda: structure.serve(request))
    assert service is not None
    assert service.constraint is not None
    line = np.zeros((1, info.vocabulary_size), np.float32)
    passes: list[list[float]] = []
    for _ in range(1 + rounds):
        constrained = Constrained(service.constraint(()), info.vocabulary_size, info.end_tokens)
        spent = []
        for token in tokens:
            spent.append(_timed(lambda constrained=constrained: constrained.masked(line, ()))[0])
            constrained.accept(token)
        passes.append(spent)
    first, later = passes[0], [min(times) for times in zip(*passes[1:], strict=True)]
    once = 1000 * sum(first) / len(first)
    result.figures += [
        Figure("a mask, median", 1000 * median(later), "ms", target=Target("≤", 0.5)),
        Figure("a mask, 99 of 100", 1000 * percentile(later, 99), "ms"),
        Figure("a mask, mean of the first answer", once, "ms", target=Target("≤", 0.5)),
        Figure("the vocabulary, once", 1000 * vocabulary, "ms"),
        Figure("a new schema", 1000 * compiling, "ms"),
        Figure("a known schema", 1000 * again, "ms"),
    ]
    result.notes.append(f"{info.vocabulary_size} tokens of vocabulary, {len(tokens)} tokens of answer")


def _timed(action: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    value = action()
    return time.perf_counter() - started, value
