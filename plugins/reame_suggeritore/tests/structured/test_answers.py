"""Schemas, grammars and regular expressions on the engine: drafts, sampling, choices, ends."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.reame_suggeritore.tests.structured.support import (
    answer_to,
    constrained,
    hooks_of,
    json_format,
    parsed,
    sampled_at,
    served,
)
from reame_core.engine.exactness import ExactShapes
from reame_core.engine.request import SamplingParams
from reame_core.plugins.api import Draft
from reame_core.testing import FakeBackend
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import Drafter, chi_square, engine_on, hook, plain, play, sampled, thorough

INVOICE = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string", "maxLength": 12},
        "total": {"type": "integer", "minimum": 0, "maximum": 1000},
        "currency": {"enum": ["EUR", "USD"]},
        "items": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
    },
    "required": ["vendor", "total", "currency"],
    "additionalProperties": False,
}
SAMPLINGS = [
    SamplingParams(),
    sampled_at(1.5),
    sampled_at(1.0, frequency_penalty=1.5, presence_penalty=1.0),
    SamplingParams(repeat_penalty=1.5),
    sampled_at(0.9, top_p=0.7, top_k=20, min_p=0.01),
    sampled_at(1.0, logit_bias={ord("z"): 100.0, ord('"'): -5.0}),
]


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("exact", [None, ExactShapes(1, 8)])
def test_forced_drafts_change_nothing_and_save_steps(sampling: SamplingParams, exact: Any) -> None:
    service = served(response_format=json_format(INVOICE))
    request = constrained(service, "an invoice", sampling=sampling, n=2, logprobs=2)
    without = engine_on(FakeBackend(cells=1024), exact=exact)
    drafting = engine_on(FakeBackend(cells=1024), hooks_of(), exact=exact)
    wanted, got = play(without, request)[0], play(drafting, request)[0]
    assert got.said == wanted.said
    assert [answer.logprobs for answer in got] == [answer.logprobs for answer in wanted]
    for answer in got:
        assert parsed(answer).keys() >= {"vendor", "total", "currency"}
    assert drafting.steps < without.steps


def test_most_of_what_is_forced_is_drafted_and_kept() -> None:
    answer = answer_to(constrained(served(response_format=json_format(INVOICE)), sampling=sampled_at(1)))
    drafted, accepted = answer.usage.drafts["suggeritore"]
    assert accepted > 0.7 * drafted
    assert accepted > 0.3 * answer.usage.completion


@pytest.mark.parametrize("length", [4, 8, 16])
@pytest.mark.parametrize("prose", [" and this is prose", '"}, {"choice": "', "</answer>"])
def test_the_end_of_the_grammar_inside_a_draft(length: int, prose: str) -> None:
    # case 48: the finished grammar is not asked for one more token
    schema = {"type": "object", "properties": {"choice": {"enum": ["one", "two", "three"]}}}
    schema |= {"required": ["choice"], "additionalProperties": False}
    service = served(response_format=json_format(schema))
    archive = vocabulary.tokenize('{"choice": "two"}' + prose)

    def propose(sequence: Any, limit: int) -> Draft | None:
        said = sequence.tokens[sequence.prompt_length :].tolist()
        return Draft(archive[len(said) :][: min(length, limit)]) if archive[: len(said)] == said else None

    drafting = engine_on(hooks=type(hooks_of())(propose_draft=hook(propose)))
    without = engine_on()
    for seed in range(25):
        request = constrained(service, sampling=sampled_at(1.5, seed), ignore_end=bool(seed % 2))
        got, wanted = play(drafting, request)[0], play(without, request)[0]
        assert got.said == wanted.said
        assert parsed(got[0])["choice"] in ("one", "two", "three")


def test_truncation_is_a_length() -> None:
    for limit in (1, 5, 20):
        answer = answer_to(constrained(served(response_format=json_format(INVOICE)), max_tokens=limit))
        assert (answer.reason, answer.usage.completion) == ("length", limit)


def test_white_space_is_bounded() -> None:
    # case 91: this model would love to go on with blanks, and never ends by itself
    bias = {ord(" "): 50.0, ord("\n"): 50.0, 267: 50.0, vocabulary.EOS: -100.0, vocabulary.TURN_END: -100.0}
    wish = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}}
    for schema in (wish | {"required": ["a", "b"]}, INVOICE):
        schema = schema | {"additionalProperties": False}
        for temperature in (0, 1):
            sampling = sampled_at(temperature, logit_bias=bias)
            answer = answer_to(constrained(served(response_format=json_format(schema)), sampling=sampling))
            assert parsed(answer)
            assert "  " not in json.dumps({**parsed(answer), "vendor": ""})
            assert answer.text.endswith("}")
    answer = answer_to(constrained(served(response_format={"type": "json_object"}), sampling=sampled_at(0)))
    assert not re.search(r"\s\s", re.sub(r'"[^"]*"', '""', answer.text))


@pytest.mark.parametrize(
    ("fields", "form"),
    [
        ({"regex": r"[A-Z]{2}-\d{3}"}, r"[A-Z]{2}-\d{3}"),
        ({"guided_regex": "(ab|cd)+e"}, "(ab|cd)+e"),
        ({"grammar": 'root ::= ("yes" | "no") "!"?'}, "(yes|no)!?"),
        ({"grammar": 'root ::= "caf\\u00e9" [\\u4e00-\\u4e05]\n'}, "café[一-丅]"),
        ({"grammar": 'start: "x" NUMBER\nNUMBER: /[0-9]{2}/'}, r"x\d\d"),
        ({"guided_grammar": 'root ::= item item\nitem ::= "- " [a-z]{1,3} "\\n"'}, "(- [a-z]{1,3}\n){2}"),
        ({"guided_choice": ['a"b', "ü\\n", "plain text"]}, r'a"b|ü\\n|plain text'),
        ({"structured_outputs": {"choice": ["on", "off"], "json": None}}, "on|off"),
        ({"structured_outputs": {"regex": "[xyz]{4}"}}, "[xyz]{4}"),
        ({"reame.regex": "[xyz]{4}"}, "[xyz]{4}"),
        ({"reame.grammar": 'root ::= [0-9] "/" [0-9]'}, "[0-9]/[0-9]"),
    ],
)
def test_grammars_and_regular_expressions(fields: dict[str, Any], form: str) -> None:
    service = served(**fields)
    assert service.fields == set(fields)
    for seed in range(5):
        answer = answer_to(constrained(service, sampling=sampled_at(2, seed), max_tokens=60))
        assert answer.reason == "stop"
        assert re.fullmatch(form, answer.text), answer.text


@pytest.mark.parametrize(
    "fields",
    [
        {"json_schema": INVOICE},
        {"reame.json_schema": INVOICE},
        {"guided_json": INVOICE},
        {"guided_json": json.dumps(INVOICE)},
        {"structured_outputs": {"json": INVOICE}},
        {"response_format": {"type": "json_object", "schema": INVOICE}},
        {"response_format": json_format(INVOICE, strict=False)},
    ],
)
def test_other_names_of_schemas(fields: dict[str, Any]) -> None:
    assert parsed(answer_to(constrained(served(**fields)))).keys() >= {"vendor", "total", "currency"}


@pytest.mark.parametrize("fields", [{"structured_outputs": {"json_object": True}}, {"json_schema": {}}])
def test_any_json(fields: dict[str, Any]) -> None:
    for seed in range(5):
        answer = answer_to(constrained(served(**fields), sampling=sampled_at(1, seed), max_tokens=200))
        assert answer.reason == "length" or parsed(answer) is not Ellipsis


def test_roots_that_are_no_objects() -> None:
    # case 96
    array = {"type": "array", "items": {"enum": [1, 2]}, "minItems": 2, "maxItems": 2}
    assert len(parsed(answer_to(constrained(served(response_format=json_format(array)))))) == 2
    digit = {"type": "integer", "maximum": 5, "minimum": 0}
    assert parsed(answer_to(constrained(served(response_format=json_format(digit))))) in range(6)


def test_a_first_token_without_a_blank() -> None:
    # case 79
    for text in ("{", "  {", " x"):
        answer = answer_to(constrained(served(guided_choice=[text])))
        assert answer.text == text
        assert "".join(delta.text for delta in answer.deltas) == text


def test_draws_follow_the_masked_distribution() -> None:
    service = served(response_format=json_format({"enum": ["aa", "ab", "ba", "c"]}))
    engine, drafting = engine_on(), engine_on(hooks=hooks_of())
    counts: dict[str, np.ndarray[Any, Any]] = {}
    texts = ["aa", "ab", "ba", "c"]
    for name, each in (("plain", engine), ("drafts", drafting)):
        counts[name] = np.zeros(len(texts))
        for seed in range(400):
            request = constrained(service, sampling=sampled_at(2, seed))
            counts[name][texts.index(json.loads(play(each, request)[0][0].text))] += 1
    assert counts["plain"].tolist() == counts["drafts"].tolist()
    assert (counts["plain"] > 0).all()
    # the first letter, from the logits themselves
    line = first_line(engine)
    weights = np.exp([line[ord(letter)] / 2 for letter in "abc"])
    weights[0] += np.exp(line[vocabulary.tokenize("ab")[0]] / 2)
    letters = np.array([counts["plain"][:2].sum(), *counts["plain"][2:]])
    assert chi_square(letters, weights)


def first_line(engine: Any) -> Any:
    """The logits behind an opening quote."""
    quote = vocabulary.tokenize('"')
    request = constrained(served(guided_choice=["x"]))
    play(engine, type(request)(prompt=(*request.prompt, *quote), max_tokens=1))
    return engine.backend.logits()[-1].astype(np.float64)


def test_other_drafters_and_neighbours_change_nothing() -> None:
    service = served(response_format=json_format(INVOICE))
    request = constrained(service, "an invoice", sampling=sampled_at(1))
    neighbours = [sampled("a neighbour", 30, seed=4), sampled("another", 30, seed=5)]
    drafter = Drafter(lambda truth, limit: [*truth[:3], 1, 2][:limit])
    for neighbour in neighbours:
        drafter.learn(neighbour)
    wanted = play(engine_on(), request)[0].said
    both = type(hooks_of())(
        propose_draft=type(hooks_of().propose_draft)(
            (*hooks_of().propose_draft.calls, *drafter.hooks.propose_draft.calls)
        )
    )
    engine = engine_on(FakeBackend(cells=1024), both)
    structured, *others = play(engine, request, *neighbours)
    assert structured.said == wanted
    assert [each.said for each in others] == [plain(neighbour) for neighbour in neighbours]
    again = play(engine, request)[0]
    assert again.said == wanted
    assert again[0].usage.reused


@thorough(30)
@given(st.lists(st.sampled_from('aeiou12 "{}:,'), max_size=8).map("".join), st.integers(0, 3))
def test_any_draft_in_a_schema_changes_nothing(guess: str, seed: int) -> None:
    request = constrained(served(response_format=json_format(INVOICE)), sampling=sampled_at(1, seed))
    tokens = vocabulary.tokenize(guess) or [34]
    guessing = type(hooks_of())(propose_draft=hook(lambda sequence, limit: Draft(tokens[:limit])))
    assert play(engine_on(hooks=guessing), request)[0].said == play(engine_on(), request)[0].said
