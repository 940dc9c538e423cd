"""The contract of plugins with ``select_winner``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from reame_core.engine.request import Request, SamplingParams
from reame_core.plugins.api import Candidate, CandidateState, Group
from reame_core.testing.contracts.laws import (
    BrokenLaw,
    MakePlugin,
    Step,
    check_answers,
    check_failures,
    for_all,
    served,
    started,
)
from reame_core.testing.driving import prompt_of, run

_TEXTS = (
    "42",
    "The answer is 42.",
    "41",
    "-1.5",
    "",
    "yes",
    "Yes.",
    "no",
    "\\boxed{7}",
    "7",
    "ünïcode",
    "{}",
    "x" * 300,
)
_CANDIDATES = 5
_ENDS = (CandidateState.ENDED, CandidateState.ENDED, CandidateState.TRUNCATED, CandidateState.FAILED)

History = Sequence[Sequence[Candidate]]
"""The candidates of one request at each moment at which some of them have ended."""


def check_judge(
    make: MakePlugin,
    *,
    name: str = "checked",
    options: Mapping[str, object] | None = None,
    fields: Mapping[str, object] | None = None,
    texts: Sequence[str] = (),
    examples: int = 100,
) -> None:
    """Show the judge that ``make`` makes ``examples`` histories of candidates that end one after another, and
    let it judge on an engine. Raises BrokenLaw where

    - it raises, or answers with something that is no number of a candidate, or with one that has failed or
      still runs;
    - the same candidates get another verdict the second time, or by another instance;
    - the candidates, or the winner, do not say what they say without it.

    ``name`` is what the plugin is called, ``options`` is its table. ``fields`` are those that the request comes
    with, as for a client of ``serve_fields``: they may set how many candidates there are. Candidates say one of
    ``texts``, or something that judges in general meet.
    """
    check = _Check(make, name, dict(options or {}), dict(fields or {}))
    sizes = (1, 2, 3, 4, 5, 6, 7)
    for_all(_histories((check.size(),) if fields else sizes, (*_TEXTS, *texts)), check.history, examples)
    check.engine()


@dataclass
class _Check:
    make: MakePlugin
    name: str
    options: dict[str, object]
    fields: dict[str, object]

    def size(self) -> int:
        """How many candidates a request with the fields has."""
        with self._plugged() as running:
            return served(running, _question(1), self.fields).n

    def history(self, history: History) -> None:
        first, second = (self._verdicts(history) for _ in range(2))
        if first != second:
            raise BrokenLaw(f"the same candidates got two verdicts: {first} and {second}")

    def _verdicts(self, history: History) -> list[object]:
        """What a fresh judge says each time, up to its first verdict."""
        verdicts: list[object] = []
        with self._plugged() as running:
            hook = running.manager.hook("select_winner")
            request = served(running, _question(1 if self.fields else len(history[0])), self.fields)
            for candidates in history:
                group = Group(request, tuple(candidates))
                answers = [hook.first(group) for _ in range(2)]
                check_failures(running)
                if answers[0] != answers[1]:
                    raise BrokenLaw(f"the same candidates got two verdicts: {answers[0]} and {answers[1]}")
                verdicts.append(answers[0] and answers[0][1])
                if answers[0] is not None:
                    _check_verdict(answers[0][1], group)
                    break
        return verdicts

    def engine(self) -> None:
        """A whole request: what the candidates and the winner say."""
        request = _question(1 if self.fields else _CANDIDATES)
        with self._plugged(parallel=_CANDIDATES) as running:
            request = served(running, request, self.fields)
            answers = run(running.engine, request)[0]
            check_failures(running)
        check_answers([(Step(request, 0, False), answers)])
        if answers.winner is not None and answers[answers.winner].finished is None:
            raise BrokenLaw(f"the winner, candidate {answers.winner}, has not ended")

    def _plugged(self, **engine: Any) -> Any:
        return started(self.make(), name=self.name, options=self.options, **engine)


def _question(candidates: int) -> Request:
    return Request(
        prompt=prompt_of("how many?"),
        max_tokens=12,
        n=candidates,
        sampling=SamplingParams(temperature=0.8, seed=1),
        select=True,
    )


def _check_verdict(winner: object, group: Group) -> None:
    numbers = {candidate.choice: candidate for candidate in group.candidates}
    if not isinstance(winner, int) or isinstance(winner, bool) or winner not in numbers:
        raise BrokenLaw(f"select_winner answered {winner!r:.60}; the choices are {sorted(numbers)}")
    if numbers[winner].state in (CandidateState.FAILED, CandidateState.RUNNING):
        raise BrokenLaw(f"select_winner chose candidate {winner}, which is {numbers[winner].state.value}")


@st.composite
def _histories(draw: st.DrawFn, sizes: Sequence[int], texts: Sequence[str]) -> History:
    """Candidates end in any order, some at the same time, and some perhaps never."""
    size = draw(st.sampled_from(sizes))
    running = [
        Candidate(choice, CandidateState.RUNNING, draw(st.sampled_from(texts)), 1, -0.5)
        for choice in range(size)
    ]
    order = draw(st.permutations(range(size)))
    history: list[list[Candidate]] = []
    current, place = running, 0
    for position, choice in enumerate(order[: draw(st.integers(1, size))]):
        together = position > 0 and draw(st.booleans())
        place = place if together else position
        ended = replace(
            current[choice],
            state=draw(st.sampled_from(_ENDS)),
            text=draw(st.sampled_from(texts)),
            tokens=draw(st.integers(0, 50)),
            logprob=-draw(st.floats(0, 50)),
            place=place,
        )
        current = [ended if each.choice == choice else each for each in current]
        if together:
            history[-1] = current
        else:
            history.append(current)
    return history
