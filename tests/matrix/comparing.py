"""An answer against the plain path's."""

from __future__ import annotations

from collections.abc import Sequence

from reame_core.engine.request import Request
from tests.engine.support import Answer, Answers
from tests.matrix.world import World, said


def compare(world: World, answered: Sequence[tuple[Request, Answers]]) -> None:
    """Every choice says what it says alone. Those that a winner has stopped say the beginning of it."""
    assert answered
    for request, answers in answered:
        wanted = world.plain(request)
        for choice, (answer, alone) in enumerate(zip(answers, wanted, strict=True)):
            assert answer.error is None, answer.error
            if request.select and choice != answers.winner and answer.reason == "cancelled":
                _is_beginning(answer, alone)
            else:
                assert said(answer) == said(alone)
        if request.select:
            assert answers.winner is not None


def _is_beginning(answer: Answer, alone: Answer) -> None:
    count = len(answer.tokens)
    assert answer.tokens == alone.tokens[:count]
    assert answer.logprobs == alone.logprobs[: len(answer.logprobs)]
