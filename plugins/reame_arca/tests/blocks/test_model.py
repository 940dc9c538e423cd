"""Real kernels: what comes from another server's blocks goes on token for token like what was computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.reame_arca.tests.blocks.members import member
from plugins.reame_arca.tests.real_store import RealStore
from plugins.reame_diskkv.tests.test_models import ANSWER, QUESTIONS, cold, loaded, prompt

pytestmark = pytest.mark.model


def test_answers_from_another_server_s_blocks_are_the_cold_ones(store: RealStore, tmp_path: Path) -> None:
    with loaded("f16") as backend:
        prompts = [prompt(backend, question) for question in QUESTIONS]
        expected = [cold(backend, tokens) for tokens in prompts]
        for number, name in enumerate("abc"):
            # Each server knows nothing but what the store has.
            backend.clear()
            with member(tmp_path / name, store.url, backend=backend, max_rows=63) as each:
                answers = [each.ask(tokens, ANSWER, ignore_end=True) for tokens in prompts]
            assert [answer.tokens for answer in answers] == expected
            assert bool(answers[0].restored) is (number > 0)
