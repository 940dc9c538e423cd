"""What a request and the configuration may ask for."""

from __future__ import annotations

from typing import Any

import pytest
from reame_conclave.judges.json_value import JsonField
from reame_conclave.judges.pattern import Pattern
from reame_conclave.options import ConclaveOptions, read_rules
from reame_conclave.rules import Rules, samplings
from reame_conclave.stopping import Agreement, Beta, Window

from plugins.reame_conclave.tests.support import started
from reame_core.engine.request import SamplingParams
from reame_core.errors import ConfigError, InvalidRequest


def rules(value: object = None, **options: Any) -> Rules:
    return read_rules({} if value is None else value, ConclaveOptions(**options))


def test_defaults() -> None:
    found = rules()
    assert (found.candidates, found.coolest, found.hottest) == (5, 0.5, 0.9)
    assert (found.judge.name, found.stop.name, found.wave, found.min_consensus) == (
        "auto",
        "majority",
        None,
        None,
    )
    assert not found.show_candidates


def test_the_configuration_gives_other_defaults() -> None:
    found = rules(n=3, temperature=0.7, judge="number", stop="window", min_consensus=0.6)
    assert (found.candidates, found.coolest, found.hottest, found.wave) == (3, 0.7, 0.7, 3)
    assert (found.judge.name, found.stop.name, found.min_consensus) == ("number", "window", 0.6)
    assert rules(n=8, max_n=4).candidates == 4


def test_a_request_may_say_more() -> None:
    found = rules({"n": 9, "temperature": [0.4, 1], "stop": "beta", "confidence": 0.9, "window": 4})
    assert (found.candidates, found.coolest, found.hottest, found.wave) == (9, 0.4, 1.0, 4)
    assert found.stop == Beta(0.9)
    assert rules(7).candidates == 7
    assert rules({"n": 2, "stop": "window"}).stop == Window(2)
    assert isinstance(rules({"pattern": "x"}).judge, Pattern)
    assert isinstance(rules({"field": "a.b"}).judge, JsonField)
    assert isinstance(rules({"min_consensus": 0.5}).stop, Agreement)
    assert rules({"candidates": True, "n": None}).show_candidates


@pytest.mark.parametrize(
    ("value", "param", "message"),
    [
        ("five", "", "must be an object, or the number of candidates"),
        (True, "", "must be an object, or the number of candidates"),
        ([5], "", "must be an object"),
        (0, ".n", "must be a whole number from 1 to 128, not 0"),
        (-1, ".n", "must be a whole number from 1 to 128, not -1"),
        (1000, ".n", "must be a whole number from 1 to 128, not 1000"),
        (17, ".n", "must be from 1 to 16, not 17"),
        ({"n": 2.5}, ".n", "must be a whole number"),
        ({"n": "5"}, ".n", "must be a whole number from 1 to 128, not '5'"),
        ({"temperature": -1}, ".temperature", "must be a number from 0 to 10"),
        ({"temperature": [1]}, ".temperature", "must be a number from 0 to 10"),
        ({"temperature": [1, 0.5]}, ".temperature", "must begin with the lower one"),
        ({"judge": "numbers"}, ".judge", "must be one of auto, .*; did you mean 'number'"),
        ({"judge": 5}, ".judge", "must be one of auto"),
        ({"pattern": "("}, ".pattern", "is no pattern of RE2"),
        ({"pattern": ""}, ".pattern", "must be a text"),
        ({"pattern": "x", "judge": "json"}, ".pattern", "are two judges: name one"),
        ({"field": 3}, ".field", "must be the path of a field"),
        ({"stop": "now"}, ".stop", "must be one of majority, beta, window, never"),
        ({"confidence": 0.9}, ".confidence", 'belongs to "stop": "beta"'),
        ({"stop": "beta", "confidence": 1}, ".confidence", "must be a number between 0.5 and 1"),
        ({"window": 0}, ".window", "must be a whole number from 1"),
        ({"min_consensus": 2}, ".min_consensus", "must be a share from 0 to 1"),
        ({"candidates": "all"}, ".candidates", "must be true or false"),
        ({"judges": "auto"}, ".judges", "has no field 'judges'; did you mean 'judge'?"),
    ],
)
def test_what_cannot_be(value: object, param: str, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message) as caught:
        rules(value)
    assert caught.value.param == f"reame.conclave{param}"
    assert str(caught.value).startswith("reame.conclave")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"n": 0}, r"plugins\.conclave\.n "),
        ({"temprature": 1}, r"plugins\.conclave has no setting 'temprature'; did you mean 'temperature'"),
        ({"judge": "best"}, r"plugins\.conclave\.judge "),
        ({"temperature": [2, 1]}, r"plugins\.conclave\.temperature must begin with the lower one"),
    ],
)
def test_wrong_settings(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        started(**table)


def test_explorers_are_never_cooler_than_the_answer_they_explore() -> None:
    wanted = SamplingParams(temperature=0.7, top_k=40, seed=5)
    first, *explorers = samplings(rules({"n": 5, "temperature": [0.5, 0.9]}), wanted)
    assert first is wanted
    assert [each.temperature for each in explorers] == pytest.approx([0.7, 0.7, 0.5 + 0.8 / 3, 0.9])
    assert all((each.top_k, each.top_p, each.seed) == (40, 1.0, 5) for each in explorers)
    assert samplings(rules(1), wanted) == [wanted]
    assert [each.temperature for each in samplings(rules(2), SamplingParams())] == [0, 0.5]
