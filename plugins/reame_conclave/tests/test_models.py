"""Votes on real kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from plugins.reame_conclave.tests.support import contested, hooks, started
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.models.catalogue import resolve
from reame_core.testing import RuleConstraint
from tests.engine.support import Answers

pytestmark = pytest.mark.model

QUESTION = "<|im_start|>user\nWhat is 3 + 4? Answer with a number.<|im_end|>\n<|im_start|>assistant\n"


@pytest.fixture(scope="module")
def backend() -> Iterator[LlamaBackend]:
    """One thread and few rows: any two batches compute bit-identical rows."""
    options = LlamaOptions(kv_cells=1024, threads=1, max_rows=63, max_outputs=63)
    opened = LlamaBackend(resolve("smollm2-135m").path, options)
    yield opened
    opened.close()


def play(backend: LlamaBackend, request: Request, hooks: EngineHooks | None = None) -> Answers:
    """What becomes of ``request`` on an engine whose memory is empty."""
    backend.clear()
    engine = Engine(backend, EngineOptions(context_length=128, parallel=5, price_drafts=False), hooks)
    answers = Answers(request)
    engine.submit(request, answers)
    while engine.step():
        pass
    assert answers.done
    return answers


def question(backend: LlamaBackend) -> Request:
    return Request(prompt=tuple(backend.tokenize(QUESTION, parse_special=True)), max_tokens=10)


def test_candidate_0_is_the_plain_greedy_answer_and_the_same_vote_comes_again(backend: LlamaBackend) -> None:
    plain = question(backend)
    alone = play(backend, plain)
    votes = []
    for drafts in (False, True):
        request, ballot = contested(plain, n=4, stop="never")
        answers = play(backend, request, hooks(started(), drafts=drafts))
        assert answers[0].said == alone[0].said
        assert sum(answer.usage.computed for answer in answers) == len(plain.prompt) + 3, "one prefill"
        assert ballot.verdict is not None
        votes.append((answers.said, ballot.verdict))
    assert votes[0] == votes[1]
    assert len({text for text, *_ in votes[0][0]}) > 1


def test_structured_output_of_candidates(backend: LlamaBackend) -> None:
    """Several candidates under one constraint each, chosen by the value they give."""
    digits = {token for digit in range(10) for token in backend.tokenize(str(digit))}
    end = max(backend.info.end_tokens)

    def one_digit(said: tuple[int, ...]) -> set[int]:
        return digits if not said else {end}

    request, ballot = contested(
        Request(
            prompt=question(backend).prompt,
            max_tokens=4,
            constraint=lambda _: RuleConstraint(one_digit, {end}),
        ),
        n=5,
        temperature=2.0,
        judge="number",
    )
    answers = play(backend, request, hooks(started()))
    assert all(answer.text.strip().isdecimal() for answer in answers if answer.reason == "stop")
    assert ballot.verdict is not None
    assert ballot.verdict.consensus >= 1
