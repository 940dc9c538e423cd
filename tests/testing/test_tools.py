"""Engines, servers and machines for tests of plugins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from reame_core.engine.request import Request
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Draft
from reame_core.testing import (
    FLAT,
    STEEP,
    TWO_CORES,
    CostModel,
    FakeBackend,
    FakeClock,
    Plugged,
    plain_answers,
    prompt_of,
    run,
)

REQUEST = Request(prompt=prompt_of("again and again and again"), max_tokens=10)


class Stutter:
    @hookimpl
    def propose_draft(self, sequence: Any, limit: int) -> Draft:
        return Draft([int(sequence.tokens[-1])] * limit)


def test_an_engine_with_a_plugin(reame_engine: Callable[..., Plugged]) -> None:
    running = reame_engine(Stutter(), parallel=2)
    answers = run(running.engine, REQUEST)[0]
    assert answers.said == plain_answers(REQUEST)
    assert answers[0].usage.drafted > 0
    assert running.failures == {}


def test_a_server_with_a_plugin(reame_server: Callable[..., str]) -> None:
    url = reame_server(Stutter(), replies={"Who?": "Nobody."})
    body = {"model": "fake", "messages": [{"role": "user", "content": "Who?"}]}
    answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=20).json()
    assert answer["choices"][0]["message"]["content"] == "Nobody."


def test_the_fake_model_is_a_fixture(reame_backend: FakeBackend) -> None:
    assert reame_backend.tokenize("ab")


def test_other_weights_are_another_model() -> None:
    assert plain_answers(REQUEST) != plain_answers(REQUEST, weights=1)


@pytest.mark.parametrize(("rows", "ms"), [(1, 115), (2, 155), (4, 235), (64, 940), (256, 3174)])
def test_costs_between_and_beyond_what_was_measured(rows: int, ms: float) -> None:
    assert TWO_CORES(rows) == pytest.approx(ms)


def test_a_cost_model_needs_a_point() -> None:
    with pytest.raises(ValueError, match="at least one"):
        CostModel({})


@pytest.mark.parametrize(("machine", "pays"), [(FLAT, True), (STEEP, False)])
def test_a_simulated_machine_decides_what_drafts_are_worth(
    machine: CostModel, pays: bool, reame_engine: Callable[..., Plugged]
) -> None:
    truth = plain_answers(Request(prompt=REQUEST.prompt, max_tokens=120, ignore_end=True))[0][1]

    class Oracle:
        @hookimpl
        def propose_draft(self, sequence: Any, limit: int) -> Draft:
            said = len(sequence.tokens) - sequence.prompt_length
            return Draft(truth[said : said + limit])  # type: ignore[index]

    times = []
    for plugin in (None, Oracle()):
        clock = FakeClock(machine)
        running = reame_engine(plugin, FakeBackend(clock=clock), price_drafts=True, clock=clock)
        run(running.engine, Request(prompt=REQUEST.prompt, max_tokens=100, ignore_end=True))
        times.append(clock.now)
    assert (times[0] / times[1] > 2) == pays
    assert times[0] / times[1] > 0.9
