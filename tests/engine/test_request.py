"""Bad values never get as far as the engine: each is one clear line that names the field."""

from __future__ import annotations

import math
from typing import Any

import pytest

from reame_core.engine.request import MAX_CHOICES, MAX_STOPS, Request, SamplingParams
from reame_core.errors import InvalidRequest, UsageError


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", math.nan),
        ("temperature", -1),
        ("temperature", math.inf),
        ("temperature", 101),
        ("temperature", "hot"),
        ("temperature", True),
        ("temperature", None),
        ("top_k", -1),
        ("top_k", 1.5),
        ("top_k", True),
        ("top_p", 0),
        ("top_p", 1.01),
        ("top_p", math.nan),
        ("min_p", -0.1),
        ("min_p", 1.1),
        ("repeat_penalty", 0),
        ("repeat_penalty", -1),
        ("repeat_window", -1),
        ("presence_penalty", 2.1),
        ("frequency_penalty", -2.1),
        ("logit_bias", {1: 101}),
        ("logit_bias", {1: math.nan}),
        ("logit_bias", {-1: 1}),
        ("logit_bias", {"a": 1}),
        ("seed", 1 << 64),
        ("seed", -(1 << 63) - 1),
        ("seed", "42"),
        ("seed", 1.0),
        ("seed", True),
    ],
)
def test_sampling_values_that_make_no_sense(field: str, value: Any) -> None:
    # case 77: the text "42" is no seed
    with pytest.raises(InvalidRequest) as caught:
        SamplingParams(**{field: value})
    assert caught.value.param == field
    assert str(caught.value).startswith(field)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", ()),
        ("max_tokens", 0),
        ("max_tokens", -1),
        ("max_tokens", 1.5),
        ("max_tokens", True),
        ("n", 0),
        ("n", -1),
        ("n", MAX_CHOICES + 1),
        ("stop", ("",)),
        ("stop", ("a", "")),
        ("stop", ("a",) * (MAX_STOPS + 1)),
        ("logprobs", -1),
        ("logprobs", 21),
    ],
)
def test_request_values_that_make_no_sense(field: str, value: Any) -> None:
    # cases 69, 71, 108: no tokens, no choices and no prompt are refused
    fields: dict[str, Any] = {"prompt": (1,), field: value}
    with pytest.raises(InvalidRequest) as caught:
        Request(**fields)
    assert caught.value.param == field
    assert isinstance(caught.value, UsageError)
    assert "\n" not in str(caught.value)


def test_limits_themselves_are_allowed() -> None:
    SamplingParams(
        temperature=100, top_k=1 << 31, top_p=1, min_p=1, seed=(1 << 64) - 1, logit_bias={0: -100, 5: 100}
    )
    SamplingParams(temperature=0, seed=-(1 << 63), presence_penalty=-2, frequency_penalty=2, repeat_window=0)
    Request(prompt=(0,), max_tokens=1, n=MAX_CHOICES, stop=("a",) * MAX_STOPS, logprobs=20)
    Request(prompt=(0,), max_tokens=None, logprobs=None)


@pytest.mark.parametrize(
    ("params", "plain"),
    [
        (SamplingParams(), True),
        (SamplingParams(top_k=5, top_p=0.5, min_p=0.1, seed=3), True),
        (SamplingParams(temperature=0.1), False),
        (SamplingParams(logit_bias={1: 0.5}), False),
        (SamplingParams(repeat_penalty=1.1), False),
        (SamplingParams(presence_penalty=0.1), False),
        (SamplingParams(frequency_penalty=-0.1), False),
    ],
)
def test_plain_greedy_is_known(params: SamplingParams, plain: bool) -> None:
    assert params.plain_greedy is plain
