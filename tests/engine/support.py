"""Driving an engine on the fake backend: requests in, answers out, every step checked for leaks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from reame_core.engine.backend import OutOfCells, Rows
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, Failed, Finished, TextDelta, TokenLogprob, Usage, Won
from reame_core.engine.group import RequestGroup
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import Request, SamplingParams
from reame_core.engine.sequence import Sequence as EngineSequence
from reame_core.plugins.api import Draft, Stage
from reame_core.plugins.guard import GuardedCall
from reame_core.testing import FakeBackend, FakeClock
from reame_core.testing import fake_vocabulary as vocabulary

EFFORT = int(os.environ.get("REAME_TEST_EFFORT", "1"))
"""More than 1: that many times as many examples, and new ones at each run."""

STEPS = 20_000
"""More steps than any test needs: who takes more waits for ever."""


def thorough(examples: int) -> settings:
    """Settings of a property test with so many examples."""
    return settings(
        max_examples=examples * EFFORT,
        deadline=None,
        derandomize=EFFORT == 1,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def prompt(text: str) -> tuple[int, ...]:
    """``text`` as a prompt, with the beginning token."""
    return (vocabulary.BOS, *vocabulary.tokenize(text))


def words(count: int, salt: int = 0) -> tuple[int, ...]:
    """A prompt of exactly ``count`` tokens, the beginning of one long text; another for each ``salt``."""
    return (vocabulary.BOS, *_letters(salt)[: count - 1])


@cache
def _letters(salt: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng(salt).integers(97, 123, 8192).tolist())


def greedy(text: str | tuple[int, ...], max_tokens: int | None = 12, **fields: Any) -> Request:
    tokens = prompt(text) if isinstance(text, str) else text
    return Request(prompt=tokens, max_tokens=max_tokens, **fields)


def sampled(
    text: str | tuple[int, ...], max_tokens: int | None = 12, seed: int | None = 7, **fields: Any
) -> Request:
    fields.setdefault("sampling", SamplingParams(temperature=0.9, top_p=0.95, seed=seed))
    return greedy(text, max_tokens, **fields)


@dataclass
class Answer:
    """What one choice of a request became, gathered from its events."""

    text: str = ""
    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    deltas: list[TextDelta] = field(default_factory=list)
    finished: Finished | None = None
    error: Exception | None = None
    ends: int = 0

    @property
    def reason(self) -> str | None:
        return self.finished.reason if self.finished else None

    @property
    def usage(self) -> Usage:
        assert self.finished is not None
        return self.finished.usage

    @property
    def said(self) -> tuple[object, ...]:
        """Everything that must not depend on how the answer was computed."""
        if self.finished is None:
            return "failed", type(self.error)
        return self.text, tuple(self.tokens), self.reason, self.finished.stopped_by, self.usage.completion


class Answers(list[Answer]):
    """The sink of one request, and its choices. Checks the order of events as they come."""

    def __init__(self, request: Request) -> None:
        super().__init__(Answer() for _ in range(request.n))
        self.request = request
        self.events: list[Event] = []
        self.winner: int | None = None
        self.group: RequestGroup | None = None
        self.wrong: AssertionError | None = None

    def __call__(self, events: list[Event]) -> None:
        try:
            self._take(events)
        except AssertionError as error:  # the engine protects itself from failing sinks
            self.wrong = error
            raise

    def _take(self, events: list[Event]) -> None:
        assert events
        self.events += events
        for event in events:
            answer = self[event.choice]
            if isinstance(event, Won):
                assert self.winner is None
                assert answer.ends == 1
                self.winner = event.choice
                continue
            assert answer.ends == 0, f"{event} came after the last event"
            if isinstance(event, TextDelta):
                assert event.text or event.tokens
                answer.text += event.text
                answer.tokens += event.tokens
                answer.logprobs += event.logprobs
                answer.deltas.append(event)
            elif isinstance(event, Finished):
                answer.finished, answer.ends = event, 1
            elif isinstance(event, Failed):
                answer.error, answer.ends = event.error, 1

    @property
    def done(self) -> bool:
        if self.wrong is not None:
            raise self.wrong
        return all(answer.ends == 1 for answer in self)

    @property
    def said(self) -> list[tuple[object, ...]]:
        assert self.done
        return [answer.said for answer in self]


def engine_on(
    backend: FakeBackend | None = None, hooks: EngineHooks | None = None, clock: Any = None, **options: Any
) -> Engine:
    """An engine on ``backend`` whose context is 256 tokens where nothing else is said.

    Its time is that of the backend's clock: on real time a slow moment teaches the engine that other sizes of
    batches are cheaper, and it adds rows that a test counts.
    """
    backend = backend or FakeBackend()
    if clock is None:
        clock = backend.clock = backend.clock or FakeClock()
    options.setdefault("context_length", min(256, backend.info.kv_cells))
    options.setdefault("price_drafts", False)
    return Engine(backend, EngineOptions(**options), hooks, clock)


def submit(engine: Engine, request: Request) -> Answers:
    answers = Answers(request)
    answers.group = engine.submit(request, answers)
    return answers


def step(engine: Engine) -> bool:
    """One step, after which no cell may have leaked."""
    worked = engine.step()
    check_counts(engine)
    return worked


def run(engine: Engine) -> None:
    """Steps until nothing is under way."""
    for _ in range(STEPS):
        if not step(engine):
            break
    assert engine.idle, "something waits for ever"
    assert not engine.running
    assert engine.waiting == 0
    check_memory(engine)


def play(engine: Engine, *requests: Request) -> list[Answers]:
    """Submit all ``requests`` at once and run to the end."""
    answers = [submit(engine, request) for request in requests]
    run(engine)
    assert all(a.done for a in answers)
    return answers


def plain(request: Request, *, context_length: int = 256, **backend: Any) -> list[tuple[object, ...]]:
    """What ``request`` says on a fresh engine, alone, computed from nothing: the path to compare with."""
    alone = replace(request, reuse=False, speculate=False, select=False)
    backend.setdefault("cells", 512)
    key = repr((alone, context_length, sorted(backend.items())))
    if key not in _PLAIN or request.sampling.seed is None:
        engine = engine_on(FakeBackend(**backend), parallel=1, context_length=context_length)
        _PLAIN[key] = play(engine, alone)[0].said
    return _PLAIN[key]


_PLAIN: dict[str, list[tuple[object, ...]]] = {}


def answers(
    backend: dict[str, Any],
    options: dict[str, Any],
    *requests: Request,
    hooks: EngineHooks | None = None,
    apart: bool = False,
) -> list[list[tuple[object, ...]]]:
    """What ``requests`` say on one new engine, all at once or (``apart``) one after another."""
    engine = engine_on(FakeBackend(**backend), hooks, **options)
    if apart:
        return [play(engine, request)[0].said for request in requests]
    return [a.said for a in play(engine, *requests)]


def check_counts(engine: Engine) -> None:
    """The ledger counts as many cells as the backend has in use, and what was promised is there."""
    assert isinstance(engine.backend, FakeBackend)
    assert engine.memory.ledger.used == engine.backend.used_cells()
    assert 0 <= engine.memory.promised <= engine.memory.ledger.free


def check_memory(engine: Engine) -> None:
    """The ledger and the backend agree on every single cell."""
    check_counts(engine)
    memory, backend = engine.memory, engine.backend
    assert isinstance(backend, FakeBackend)
    for slot in memory._held:
        assert slot.cells.tolist() == backend._of_range(slot.index, 0, 1 << 30).tolist()
        assert backend._tokens[slot.cells].tolist() == slot.held_tokens.tolist()
        assert backend._positions[slot.cells].tolist() == list(range(slot.length))
        if slot.holder is not None:
            assert slot.length < slot.holder.limit
            assert slot.holder.slot is slot
            if engine.options.exact is not None and backend.info.partial_removal:
                assert (np.diff(slot.cells) > 0).all(), "exact mode gave the order of cells up"
    retired = np.flatnonzero(backend._owners[:, backend.info.usable_sequences])
    assert {cell for cells in memory._retired for cell in cells.tolist()} == set(retired.tolist())
    assert len(memory._held) + len(memory._free) == backend.info.usable_sequences
    for slot in memory._free:
        assert backend.length(slot.index) == 0
    assert backend.length(backend.info.scratch) == 0


def check_empty(engine: Engine) -> None:
    """Once the residents are forgotten nothing is left."""
    assert engine.idle
    engine.memory.forget_residents()
    assert isinstance(engine.backend, FakeBackend)
    assert engine.backend.used_cells() == 0
    assert engine.memory.ledger.used == 0
    assert len(engine.memory._free) == engine.backend.info.usable_sequences


def hook(*functions: Callable[..., Any], name: str = "plugin") -> GuardedHook:
    """Functions as a hook, guarded as the plugin manager guards them; plugins are called plugin0, plugin1."""
    calls = [(f"{name}{i}" if len(functions) > 1 else name, f) for i, f in enumerate(functions)]
    return GuardedHook(tuple((n, GuardedCall(n, "hook", f, keep_on=True)) for n, f in calls))


class MemoryStore:
    """A cache plugin in a few lines: blocks of cells by the tokens up to their end, kept for ever."""

    def __init__(self, block: int = 16, *, whole: bool = False, cut: bool = False) -> None:
        self.block = block
        self.cut = cut
        """Give a shared part of a block up to restore the whole block."""
        self.whole = whole
        """Keep whole sequences only, as recurrent models need it."""
        self.states: dict[tuple[int, ...], bytes] = {}
        self.restored = 0

    @property
    def hooks(self) -> EngineHooks:
        return EngineHooks(
            on_prefill=hook(self.on_prefill, name="store"), persist=hook(self.persist, name="store")
        )

    def persist(self, sequence: EngineSequence, kv: Any, stage: Stage) -> None:
        tokens = tuple(sequence.tokens[: kv.length].tolist())
        if self.whole:
            self.states.setdefault(tokens, kv.export(0, kv.length))
            return
        for end in range(self.block, kv.length + 1, self.block):
            if tokens[:end] not in self.states:
                self.states[tokens[:end]] = kv.export(end - self.block, end)

    def on_prefill(self, sequence: EngineSequence, kv: Any) -> int | None:
        tokens = tuple(sequence.tokens.tolist())
        before = kv.length
        if self.whole:
            longest = max(
                (k for k in self.states if len(k) < len(tokens) and tokens[: len(k)] == k), default=(), key=len
            )
            if before == 0 and longest:
                kv.restore(len(longest), self.states[longest])
        else:
            end = (before // self.block + 1) * self.block
            if self.cut and before % self.block and end < len(tokens) and tokens[:end] in self.states:
                kv.cut(end - self.block)
            while kv.length % self.block == 0:
                end = kv.length + self.block
                if end >= len(tokens) or tokens[:end] not in self.states:
                    break
                if not kv.restore(end, self.states[tokens[:end]]):
                    break
        self.restored += max(0, kv.length - before)
        return max(0, kv.length - before) or None


_TRUTHS: dict[str, list[list[int]]] = {}


class Drafter:
    """A draft plugin that knows what each prompt will be answered, and lies where ``spoil`` says so.

    ``spoil`` takes the true continuation and how many tokens were asked for, and gives the draft.
    """

    def __init__(
        self, spoil: Callable[[list[int], int], Sequence[int]] = lambda truth, limit: truth[:limit]
    ) -> None:
        self.spoil = spoil
        self.answers: dict[tuple[tuple[int, ...], int], list[int]] = {}
        self.calls = 0

    def learn(self, request: Request, *, context_length: int = 256, **backend: Any) -> None:
        """Find out what ``request`` is answered, beyond its own limit."""
        longer = replace(
            request,
            max_tokens=(request.max_tokens or 64) + 40,
            ignore_end=True,
            stop=(),
            stop_tokens=frozenset(),
            logprobs=None,
            select=False,
        )
        key = repr((longer, context_length, sorted(backend.items())))
        if key not in _TRUTHS:
            fake = FakeBackend(**{"cells": 512, **backend})
            engine = engine_on(fake, parallel=1, context_length=context_length)
            sequences = list(engine.submit(longer, Answers(longer)).sequences)
            while engine.step():
                pass
            _TRUTHS[key] = [s.buffer[s.prompt_length : s.known].tolist() for s in sequences]
        for choice, truth in enumerate(_TRUTHS[key]):
            self.answers[request.prompt, choice] = truth

    def propose(self, sequence: EngineSequence, limit: int) -> Draft | None:
        self.calls += 1
        said = sequence.tokens[sequence.prompt_length :].tolist()
        truth = self.answers.get((sequence.request.prompt, sequence.choice), [])[len(said) :]
        drafted = self.spoil(truth, limit)
        return Draft(drafted) if len(drafted) else None

    @property
    def hooks(self) -> EngineHooks:
        return EngineHooks(propose_draft=hook(self.propose, name="drafter"))


class StumblingBackend(FakeBackend):
    """Finds no free cells at the ``decode`` calls with the numbers ``out_of_cells`` (from 0)."""

    def __init__(self, *, out_of_cells: Sequence[int] = (), **arguments: Any) -> None:
        super().__init__(**arguments)
        self._out_of_cells = set(out_of_cells)
        self.attempts = 0

    def decode(self, rows: Rows) -> None:
        attempt = self.attempts
        self.attempts += 1
        if attempt in self._out_of_cells:
            raise OutOfCells("the fake backend was told to find no cells here")
        super().decode(rows)


def chi_square(counts: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    """Whether ``counts`` may well have come from the distribution ``expected`` (one false alarm in 10,000).
    Places that are expected fewer than 5 times are counted together."""
    total = counts.sum()
    share = expected / expected.sum() * total
    common = share >= 5
    assert not counts[share == 0].any(), "something impossible happened"
    seen = np.append(counts[common], counts[~common].sum())
    due = np.append(share[common], share[~common].sum())
    if due[-1] < 5:
        seen, due = np.append(seen[:-2], seen[-2:].sum()), np.append(due[:-2], due[-2:].sum())
    freedom = len(due) - 1
    if freedom == 0:
        return True
    statistic = float(((seen - due) ** 2 / due).sum())
    # Wilson and Hilferty's approximation of the quantile; 3.719 is the normal one of 1 - 1e-4.
    limit = freedom * (1 - 2 / (9 * freedom) + 3.719 * (2 / (9 * freedom)) ** 0.5) ** 3
    return statistic < limit


class Spied(FakeBackend):
    """Remembers the rows of every batch."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.batches: list[Rows] = []

    def decode(self, rows: Rows) -> None:
        self.batches.append(rows)
        super().decode(rows)


def repeat_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests without a seed, whose drafts are drawn, draw the same in each run of the tests."""
    made, numbers = np.random.SeedSequence, count()
    monkeypatch.setattr(
        np.random,
        "SeedSequence",
        lambda entropy=None: made([1, next(numbers)] if entropy is None else entropy),
    )
