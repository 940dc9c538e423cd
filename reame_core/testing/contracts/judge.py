"""The contract of plugins with ``select_winner``."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from reame_core.engine.request import Request, SamplingParams
from reame_core.plugins.api import Candidate, CandidateState, Group
from reame_core.testing.contracts.laws import BrokenLaw, MakePlugin, check_failures, for_all
from reame_core.testing.driving import plain_answers, plugged, prompt_of, run

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


def check_judge(make: MakePlugin, *, options: dict[str, object] | None = None, examples: int = 100) -> None:
    """Show the judge that ``make`` makes ``examples`` groups of candidates, and let it judge on an engine.
    Raises BrokenLaw where

    - it raises, or answers with something that is no number of a candidate, or with one that has failed or
      still runs;
    - the same group gets another verdict the second time;
    - the text of the winner is not what that choice says without it.
    """

    def check(group: Group) -> None:
        with plugged(make(), options=options) as running:
            hook = running.manager.hook("select_winner")
            verdicts = [hook.first(group) for _ in range(2)]
            check_failures(running)
        if verdicts[0] != verdicts[1]:
            raise BrokenLaw(f"the same candidates got two verdicts: {verdicts[0]} and {verdicts[1]}")
        if verdicts[0] is not None:
            _check_verdict(verdicts[0][1], group)

    for_all(_groups(), check, examples)
    _check_engine(make, options)


def _check_verdict(winner: object, group: Group) -> None:
    numbers = {candidate.choice: candidate for candidate in group.candidates}
    if not isinstance(winner, int) or isinstance(winner, bool) or winner not in numbers:
        raise BrokenLaw(f"select_winner answered {winner!r:.60}; the choices are {sorted(numbers)}")
    if numbers[winner].state in (CandidateState.FAILED, CandidateState.RUNNING):
        raise BrokenLaw(f"select_winner chose candidate {winner}, which is {numbers[winner].state.value}")


@st.composite
def _groups(draw: st.DrawFn) -> Group:
    states = draw(st.lists(st.sampled_from(CandidateState), min_size=1, max_size=7))
    done = 0
    candidates = []
    for choice, state in enumerate(states):
        ended = state is not CandidateState.RUNNING
        candidates.append(
            Candidate(
                choice=choice,
                state=state,
                text=draw(st.sampled_from(_TEXTS)),
                tokens=draw(st.integers(0, 50)),
                logprob=-draw(st.floats(0, 50)),
                place=done if ended else None,
            )
        )
        done += ended
    request = Request(
        prompt=prompt_of("?"), n=len(states), sampling=SamplingParams(temperature=1.0), select=True
    )
    return Group(request, tuple(candidates))


def _check_engine(make: MakePlugin, options: dict[str, object] | None) -> None:
    request = Request(
        prompt=prompt_of("how many?"),
        max_tokens=12,
        n=5,
        sampling=SamplingParams(temperature=0.8, seed=1),
        select=True,
    )
    with plugged(make(), options=options) as running:
        answers = run(running.engine, request)[0]
        check_failures(running)
    if answers.winner is not None:
        said, plain = answers[answers.winner].said, plain_answers(replace(request))[answers.winner]
        if said != plain:
            raise BrokenLaw(f"the winner says {said}, and without the judge {plain}")
