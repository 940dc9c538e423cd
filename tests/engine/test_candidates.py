"""Choices of one request that are sampled differently, start in waves, and know when they ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request, SamplingParams
from reame_core.errors import InvalidRequest
from reame_core.plugins.api import Group
from tests.engine.support import (
    Drafter,
    check_empty,
    engine_on,
    greedy,
    hook,
    plain,
    play,
    run,
    step,
    submit,
)

SAMPLINGS = tuple(SamplingParams(temperature=heat, seed=5) for heat in (0.0, 0.4, 0.8, 1.2))


def differing(tokens: int = 14, **fields: object) -> Request:
    return greedy("question", tokens, n=4, sampling_by_choice=SAMPLINGS, **fields)


def alone(request: Request, choice: int) -> tuple[object, ...]:
    """What a choice says where all are sampled as it is."""
    return plain(replace(request, sampling=SAMPLINGS[choice], sampling_by_choice=(), wave=None))[choice]


@pytest.mark.parametrize("parallel", [1, 4])
@pytest.mark.parametrize("wave", [None, 1, 3])
def test_each_choice_is_sampled_in_its_own_way(parallel: int, wave: int | None) -> None:
    request = differing(wave=wave)
    [answers] = play(engine_on(parallel=parallel), request)
    assert answers.said == [alone(request, choice) for choice in range(4)]
    assert answers[0].said == plain(greedy("question", 14))[0]


def test_drafts_change_nothing() -> None:
    request = differing(24)
    drafter = Drafter(lambda truth, limit: [*truth[:3], 7][:limit])
    truths = {}
    for choice in range(4):
        drafter.learn(replace(request, sampling=SAMPLINGS[choice], sampling_by_choice=()))
        truths[request.prompt, choice] = drafter.answers[request.prompt, choice]
    drafter.answers.update(truths)
    [answers] = play(engine_on(hooks=drafter.hooks), request)
    assert answers.said == [alone(request, choice) for choice in range(4)]
    assert all(answer.usage.accepted > 0 for answer in answers)


def test_plugins_see_the_sampling_of_the_choice() -> None:
    seen: dict[int, SamplingParams] = {}

    def look(sequence: object, limit: int) -> None:
        seen[sequence.choice] = sequence.request.sampling  # type: ignore[attr-defined]

    play(engine_on(hooks=EngineHooks(propose_draft=hook(look))), differing())
    assert seen == dict(enumerate(SAMPLINGS))


def test_as_many_ways_as_choices() -> None:
    with pytest.raises(InvalidRequest, match="2 ways of sampling are given for 3 choices"):
        greedy("question", n=3, sampling_by_choice=SAMPLINGS[:2])
    with pytest.raises(InvalidRequest, match="wave must be from 1"):
        greedy("question", n=3, wave=0)


def test_a_biased_choice_is_checked_as_any_other() -> None:
    biased = SamplingParams(logit_bias={99_999: 1.0})
    with pytest.raises(InvalidRequest, match="logit_bias names token 99999"):
        engine_on().submit(greedy("question", n=2, sampling_by_choice=(SamplingParams(), biased)), print)


def test_waves_follow_each_other() -> None:
    engine = engine_on(parallel=4)
    answers = submit(engine, differing(6, wave=3))
    running = []
    while not answers.done:
        step(engine)
        running.append(len(engine.running))
    assert max(running) == 3
    ended = [sum(answer.ends for answer in answers[:3])]
    assert ended == [3]
    check_empty(engine)


def test_a_winner_ends_waves_that_have_not_begun() -> None:
    def first(group: Group) -> int | None:
        return 0 if group.candidates[0].place is not None else None

    engine = engine_on(hooks=EngineHooks(select_winner=hook(first)), parallel=4)
    [answers] = play(engine, differing(6, wave=2, select=True))
    assert answers.winner == 0
    assert [answer.reason for answer in answers[2:]] == ["cancelled", "cancelled"]
    assert [answer.usage.completion for answer in answers[2:]] == [0, 0]
    check_empty(engine)


@pytest.mark.parametrize("when", [0, 2, 8])
def test_cancelling_ends_waves_that_have_not_begun(when: int) -> None:
    engine = engine_on(parallel=2)
    answers = submit(engine, differing(6, wave=1, ignore_end=True))
    for _ in range(when):
        step(engine)
    assert answers.group is not None
    engine.cancel(answers.group)
    assert answers.done
    assert answers[3].reason == "cancelled"
    run(engine)
    check_empty(engine)


def test_candidates_know_after_how_many_they_ended() -> None:
    seen: list[list[int | None]] = []

    def look(group: Group) -> None:
        seen.append([candidate.place for candidate in group.candidates])

    limits = greedy("question", 6, n=3, select=True, ignore_end=True)
    play(engine_on(hooks=EngineHooks(select_winner=hook(look)), parallel=2), limits)
    assert seen == [[0, 0, None], [0, 0, 2]]
