"""Random schedules: whatever comes, goes, stops and fails at whatever time, each answer is the plain one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import event, given, note
from hypothesis import strategies as st

from reame_core.engine.exactness import ExactShapes
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request, SamplingParams
from reame_core.errors import EngineError
from reame_core.plugins.api import CandidateState, Group
from reame_core.testing import FakeClock
from tests.engine.support import (
    Answers,
    Drafter,
    FakeBackend,
    MemoryStore,
    check_empty,
    check_memory,
    engine_on,
    hook,
    plain,
    step,
    submit,
    thorough,
    words,
)

CONTEXT = 72
TREES = [words(40, salt)[1:] for salt in (0, 1)]
"""Two texts that prompts branch off from."""


@st.composite
def prompts(draw: st.DrawFn) -> tuple[int, ...]:
    tree = draw(st.sampled_from(TREES))
    trunk = draw(st.integers(0, 40))
    branch = draw(st.binary(max_size=draw(st.sampled_from([1, 4, 28]))).map(lambda b: [97 + x % 26 for x in b]))
    return ((256, *tree[:trunk], *branch) if draw(st.booleans()) else (*tree[:trunk], *branch))[
        : CONTEXT - 1
    ] or (97,)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    greedy = draw(st.booleans())
    params = SamplingParams(
        temperature=0.0 if greedy else draw(st.sampled_from([0.7, 1.3])),
        top_p=draw(st.sampled_from([1.0, 0.9])),
        frequency_penalty=draw(st.sampled_from([0.0, 0.0, 0.6])),
        seed=draw(st.integers(0, 3)),
    )
    return Request(
        prompt=draw(prompts()),
        max_tokens=draw(st.sampled_from([1, 2, 5, 12, 25, None])),
        n=draw(st.sampled_from([1, 1, 1, 2, 3])),
        sampling=params,
        stop=tuple(draw(st.lists(st.sampled_from(["a", "e", "th", "ing", "b c", "zz"]), max_size=2))),
        stop_tokens=frozenset(draw(st.sets(st.integers(97, 122), max_size=1))),
        ignore_end=draw(st.booleans()),
        logprobs=draw(st.sampled_from([None, None, 2])),
        reuse=draw(st.sampled_from([True, True, True, False])),
        speculate=draw(st.sampled_from([True, True, False])),
        select=draw(st.sampled_from([False, False, False, True])),
        tenant=draw(st.sampled_from(["", "", "other"])),
    )


@dataclass(frozen=True)
class Arrival:
    request: Request
    wait: int
    """Steps after the arrival before it."""
    cancel_after: int | None
    """Steps after which it is cancelled."""


arrivals = st.builds(
    Arrival,
    requests(),
    st.sampled_from([0, 0, 1, 3, 40]),
    st.one_of(st.none(), st.none(), st.none(), st.integers(0, 12)),
)


@dataclass(frozen=True)
class World:
    """What everything happens in."""

    window: int
    recurrent: bool
    exact: bool
    cells: int
    max_rows: int
    max_sequences: int
    parallel: int
    residents: int
    drafts: bool
    priced: bool
    store: bool
    cut: bool
    fail_on: tuple[int, ...]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    variant = draw(st.sampled_from(["plain", "plain", "window", "recurrent", "exact"]))
    max_sequences = draw(st.sampled_from([5, 8, 20]))
    return World(
        window=12 if variant == "window" else 0,
        recurrent=variant == "recurrent",
        exact=variant == "exact",
        cells=draw(st.sampled_from([CONTEXT + 2, CONTEXT + 2, 100, 160, 400])),
        max_rows=draw(st.sampled_from([1, 2, 5, 16, 64])),
        max_sequences=max_sequences,
        parallel=draw(st.integers(1, min(6, max_sequences - 2))),
        residents=draw(st.sampled_from([0, 1, 32])),
        drafts=draw(st.booleans()),
        priced=draw(st.booleans()),
        store=draw(st.booleans()),
        cut=draw(st.booleans()),
        fail_on=tuple(draw(st.lists(st.integers(0, 60), max_size=2))) if draw(st.booleans()) else (),
    )


def first_ended(group: Group) -> int | None:
    """A jury that is content with the first candidate of an even length."""
    good = (CandidateState.ENDED, CandidateState.TRUNCATED)
    return next((c.choice for c in group.candidates if c.state in good and c.tokens % 2 == 0), None)


def hooks_of(world: World, schedule: list[Arrival], model: dict[str, Any]) -> EngineHooks:
    hooks = EngineHooks(select_winner=hook(first_ended))
    if world.drafts:
        drafter = Drafter(lambda truth, limit: [*truth[: len(truth) % 6], 99, *truth[3:7]][: 1 + limit])
        for arrival in schedule:
            drafter.learn(arrival.request, **model)
        hooks = replace(hooks, propose_draft=drafter.hooks.propose_draft)
    if world.store:
        store = MemoryStore(8, whole=world.recurrent, cut=world.cut).hooks
        hooks = replace(hooks, on_prefill=store.on_prefill, persist=store.persist)
    return hooks


@dataclass
class Under:
    """A request under way."""

    arrival: Arrival
    answers: Answers
    since: int
    cancelled: bool = False


@thorough(200)
@given(worlds(), st.lists(arrivals, min_size=1, max_size=8))
def test_every_answer_equals_the_one_at_a_time_run(world: World, schedule: list[Arrival]) -> None:
    model: dict[str, Any] = {"window": world.window, "order_matters": world.exact, "end_bias": 0.5}
    clock = FakeClock()
    backend = FakeBackend(
        clock=clock,
        cells=world.cells,
        max_rows=world.max_rows,
        max_sequences=world.max_sequences,
        recurrent=world.recurrent,
        fail_on=world.fail_on,
        **model,
    )
    exact = ExactShapes(min(2, world.max_rows), 7) if world.exact else None
    engine = engine_on(
        backend,
        hooks_of(world, schedule, model),
        clock,
        price_drafts=world.priced,
        context_length=CONTEXT,
        parallel=world.parallel,
        residents=world.residents,
        exact=exact,
    )
    under: list[Under] = []
    waiting = list(schedule)
    pause = waiting[0].wait
    steps = 0
    while waiting or not engine.idle:
        while waiting and (pause <= 0 or engine.idle):
            arrival = waiting.pop(0)
            under.append(Under(arrival, submit(engine, arrival.request), steps))
            pause = waiting[0].wait if waiting else 0
        for u in under:
            if u.arrival.cancel_after == steps - u.since and not u.answers.done:
                assert u.answers.group is not None
                u.cancelled = True
                engine.cancel(u.answers.group)
                assert u.answers.done, "a cancelled request was not ended at once"
        step(engine)
        check_memory(engine)
        pause -= 1
        steps += 1
        assert steps < 20_000, "something waits for ever"
    for u in under:
        judge(u, model)
    check_empty(engine)
    event(f"failed batches: {sum(call < backend.decodes for call in set(world.fail_on))}")
    event(f"steps: {min(200, steps // 50 * 50)}+")


def judge(u: Under, model: dict[str, Any]) -> None:
    """``u`` said what it had to say, or the beginning of that where somebody stopped it."""
    request, answers = u.arrival.request, u.answers
    assert answers.done
    note(f"{request} said {answers.said}")
    wanted = plain(request, context_length=CONTEXT, **model)
    for answer, alone in zip(answers, wanted, strict=True):
        if answer.error is not None:
            assert isinstance(answer.error, EngineError)
            assert "told to fail" in str(answer.error)
        elif answer.reason == "cancelled":
            assert u.cancelled or answers.winner is not None
            text, tokens, *_, completion = alone
            assert isinstance(text, str)
            assert isinstance(tokens, tuple)
            assert isinstance(completion, int)
            assert text.startswith(answer.text)
            assert tokens[: len(answer.tokens)] == tuple(answer.tokens)
            assert answer.usage.completion <= completion
        else:
            assert answer.said == alone
            usage = answer.usage
            assert usage.prompt == len(request.prompt) == usage.computed + sum(usage.reused.values())
            assert usage.accepted <= usage.drafted
            assert usage.accepted <= usage.completion
        if request.logprobs is not None:
            assert [p.token for p in answer.logprobs] == answer.tokens
    if answers.winner is not None:
        assert request.select
        assert answers[answers.winner].usage.completion % 2 == 0
