"""What two questions must have in common to have one answer."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from reame_core.answers.material import ELSEWHERE, NO_MATTER, material_of
from reame_core.engine.request import Request, SamplingParams
from reame_core.plugins.api import Question
from reame_core.testing import RuleConstraint

REQUEST = Request(prompt=(1, 2, 3), max_tokens=8)


def question(request: Request = REQUEST, **more: Any) -> Question:
    return Question(request, **{"room": 8, "exact": False, **more})


def material(request: Request = REQUEST, *, seeded: bool = False, **more: Any) -> bytes | None:
    return material_of(question(request, **more), keeper="arca", seeded=seeded)


OTHERS: dict[str, Any] = {
    "prompt": (1, 2, 4),
    "n": 2,
    "stop": ("x",),
    "stop_tokens": frozenset({7}),
    "ignore_end": True,
    "logprobs": 0,
}
OTHER_SAMPLING: dict[str, Any] = {
    "logit_bias": {5: 1.0},
    "repeat_penalty": 1.1,
    "repeat_window": 65,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.1,
}
DRAWN: dict[str, Any] = {"temperature": 0.7, "top_k": 3, "top_p": 0.9, "min_p": 0.1, "seed": 5}


def test_every_field_is_thought_of() -> None:
    """A field that is new in the core is told apart by itself; this is where to say what it means."""
    left_out = {"select"}  # such questions are not shared
    assert {each.name for each in fields(Request)} == OTHERS.keys() | NO_MATTER | ELSEWHERE | left_out | set()
    assert {each.name for each in fields(SamplingParams)} == OTHER_SAMPLING.keys() | DRAWN.keys()


@pytest.mark.parametrize("name", OTHERS)
def test_other_requests_have_other_answers(name: str) -> None:
    assert material(replace(REQUEST, **{name: OTHERS[name]})) not in (material(), None)


@pytest.mark.parametrize("name", OTHER_SAMPLING)
def test_other_sampling_has_other_answers(name: str) -> None:
    sampling = SamplingParams(**{name: OTHER_SAMPLING[name]})
    assert material(replace(REQUEST, sampling=sampling)) not in (material(), None)


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn_depends_on_everything_about_drawing(name: str) -> None:
    drawn = SamplingParams(temperature=1, seed=4)
    other = replace(REQUEST, sampling=replace(drawn, **{name: DRAWN[name]}))
    plain = material(replace(REQUEST, sampling=drawn), seeded=True)
    assert plain is not None
    assert material(other, seeded=True) not in (plain, None)


@pytest.mark.parametrize("name", ["seed", "top_k", "top_p", "min_p"])
def test_the_most_probable_token_does_not_depend_on_how_others_would_be_drawn(name: str) -> None:
    other = replace(REQUEST, sampling=SamplingParams(**{name: DRAWN[name]}))
    assert material(other) == material()


def test_the_room_the_mode_and_what_plugins_were_asked_decide() -> None:
    fields = {"suggeritore": {"response_format": {"type": "json_object"}}}
    several = [
        material(),
        material(room=9),
        material(exact=True),
        material(fields=fields),
        material(fields=fields, versions={"suggeritore": "2"}),
        material(fields={"suggeritore": {"response_format": {"type": "text"}}}),
        material(fields={"another": fields["suggeritore"]}),
    ]
    assert len(set(several)) == len(several)
    assert None not in several


def test_the_endpoint_decides_where_plugins_were_asked() -> None:
    """With the same tokens and the same pattern a chat may think first, and a completion may not."""
    assert material(endpoint="chat") == material(endpoint="completions")
    fields = {"suggeritore": {"regex": "a"}}
    assert material(fields=fields, endpoint="chat") != material(fields=fields, endpoint="completions")


def test_the_order_of_properties_is_that_of_the_answer() -> None:
    def schema(*names: str) -> bytes | None:
        return material(fields={"s": {"json_schema": {"properties": {name: {} for name in names}}}})

    assert schema("a", "b") != schema("b", "a")


def test_the_order_of_what_has_none_does_not_matter() -> None:
    def biased(bias: dict[int, float], stops: list[int]) -> bytes | None:
        sampling = SamplingParams(logit_bias=bias)
        return material(replace(REQUEST, sampling=sampling, stop_tokens=frozenset(stops)))

    assert biased({1: 0.5, 2: 1.0}, [3, 900, 17]) == biased({2: 1.0, 1: 0.5}, [900, 17, 3])


@pytest.mark.parametrize("name", sorted(NO_MATTER - {"background"}))
def test_how_fast_an_answer_comes_does_not_decide(name: str) -> None:
    values: dict[str, Any] = {"reuse": False, "speculate": False, "wave": 1}
    assert material(replace(REQUEST, **{name: values[name]})) == material()


def test_what_this_plugin_is_asked_does_not_decide() -> None:
    assert material(fields={"arca": {"reame.arca": {"blocks": False}}}) == material()


def test_what_is_not_shared() -> None:
    drawn = replace(REQUEST, sampling=SamplingParams(temperature=1))
    seeded = replace(REQUEST, sampling=SamplingParams(temperature=1, seed=1))
    mixed = replace(REQUEST, n=2, sampling_by_choice=(SamplingParams(), SamplingParams(temperature=1)))
    constrained = replace(REQUEST, constraint=lambda prompt: RuleConstraint(lambda said: (1,)))
    assert material(drawn, seeded=True) is None
    assert material(seeded) is None
    assert material(seeded, seeded=True) is not None
    assert material(mixed) is None
    assert material(replace(REQUEST, select=True)) is None
    assert material(replace(REQUEST, background=True)) is None
    assert material(constrained) is None, "nobody says what constrains it"
    assert material(constrained, fields={"s": {"regex": "a"}}) is not None
    assert material(fields={"s": {"x": object()}}) is None
