"""A part of an exported block continues like computed cells."""

from __future__ import annotations

import pytest

from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.llama.backend import LlamaBackend
from tests.model.test_equality import QUESTIONS, Run, alone

pytestmark = pytest.mark.model

BLOCK = 8


def exported(backend: LlamaBackend, question: str) -> dict[int, bytes]:
    """Blocks of a question and its answer, by their ends."""
    states: dict[int, bytes] = {}

    def persist(sequence, kv, stage):
        for end in range(BLOCK, kv.length + 1, BLOCK):
            states.setdefault(end, kv.export(end - BLOCK, end))

    run = Run(backend, EngineHooks(persist=GuardedHook((("store", persist),))))
    run.submit(question)
    run.finish()
    return states


@pytest.mark.parametrize("keep", [1, 5, BLOCK, BLOCK + 5])
def test_another_question_takes_what_it_has_in_common(smollm2: LlamaBackend, keep: int) -> None:
    states = exported(smollm2, QUESTIONS[0])
    plain = alone(smollm2, QUESTIONS[1])

    def on_prefill(sequence, kv):
        for end in range(BLOCK, keep + BLOCK, BLOCK):
            assert kv.restore(end, states[end], min(end, keep))
        return kv.length

    run = Run(smollm2, EngineHooks(on_prefill=GuardedHook((("store", on_prefill),))))
    number = run.submit(QUESTIONS[1])
    run.finish()
    assert run.tokens(number) == plain
    assert run.usage(number).reused == {"store": keep}


def test_a_cut_prefix_continues_with_restored_blocks(smollm2: LlamaBackend) -> None:
    states = exported(smollm2, QUESTIONS[1])
    plain = alone(smollm2, QUESTIONS[1])

    def on_prefill(sequence, kv):
        start = kv.length // BLOCK * BLOCK
        if not start:
            return None
        assert kv.cut(start)
        while (end := kv.length + BLOCK) < sequence.prompt_length:
            assert kv.restore(end, states[end])
        return kv.length

    run = Run(smollm2, EngineHooks(on_prefill=GuardedHook((("store", on_prefill),))))
    run.submit(QUESTIONS[0])
    run.finish()
    number = run.submit(QUESTIONS[1])
    run.finish()
    assert run.tokens(number) == plain
    assert set(run.usage(number).reused) == {"ram", "store"}
