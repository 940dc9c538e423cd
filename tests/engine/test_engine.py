"""Whatever the engine does to be fast, each answer is the one of a fresh engine that has nothing else to do."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reame_core.engine.exactness import ExactShapes
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request, SamplingParams
from reame_core.errors import ConfigError, ContextLengthExceeded, EngineError, InvalidRequest
from reame_core.plugins.api import Draft
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import (
    Drafter,
    FakeBackend,
    MemoryStore,
    Spied,
    StumblingBackend,
    answers,
    check_empty,
    engine_on,
    greedy,
    hook,
    plain,
    play,
    prompt,
    run,
    sampled,
    step,
    submit,
    words,
)

SYSTEM = words(40)
USERS = [
    greedy((*SYSTEM, *b"first question"), 14),
    sampled((*SYSTEM, *b"second"), 14, seed=1),
    greedy((*SYSTEM, *b"first question and more of it"), 14),
    sampled((*SYSTEM[:21], *b"third"), 14, seed=3, stop=("a", "qu")),
    greedy(SYSTEM, 14, n=3),
    sampled((*SYSTEM, *b"first question"), 14, seed=4, n=3),
]

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "window": {"window": 24},
    "recurrent": {"recurrent": True},
    "exact": {"order_matters": True},
}
FEATURES = ("together", "again", "chunks", "drafts", "store", "tiny")


def scenario(variant: str, features: set[str], users: list[Request]) -> None:
    """All ``users`` on an engine with ``features``: each answer must be the plain one."""
    backend = dict(VARIANTS[variant])
    model = {k: v for k, v in backend.items() if k != "recurrent"}
    wanted = [plain(user, end_bias=1.0, **model) for user in users]
    hooks = EngineHooks()
    if "drafts" in features:
        drafter = Drafter(lambda truth, limit: [*truth[: len(truth) % 5], 7, *truth[3:9]][:limit])
        for user in users:
            drafter.learn(user, end_bias=1.0, **model)
        hooks = replace(hooks, propose_draft=drafter.hooks.propose_draft)
    if "store" in features:
        store = MemoryStore(8, whole=variant == "recurrent").hooks
        hooks = replace(hooks, on_prefill=store.on_prefill, persist=store.persist)
    options: dict[str, Any] = {"context_length": 96, "parallel": 4}
    if variant == "exact":
        options["exact"] = ExactShapes(2, 7)
    backend["max_rows"] = 5 if "chunks" in features else 64
    backend["cells"] = 100 if "tiny" in features else 640
    engines = [engine_on(FakeBackend(end_bias=1.0, **backend), hooks, **options)]
    if "store" in features:
        engines.append(engine_on(FakeBackend(end_bias=1.0, **backend), hooks, **options))
    for engine in engines:
        for _ in range(2 if "again" in features else 1):
            if "together" in features:
                assert [a.said for a in play(engine, *users)] == wanted
            else:
                assert [play(engine, user)[0].said for user in users] == wanted
        check_empty(engine)


PAIRS = [set(pair) for size in (0, 1, 2) for pair in combinations(FEATURES, size)]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("features", [*PAIRS, set(FEATURES)], ids=lambda f: "-".join(sorted(f)) or "none")
def test_every_pair_of_features_gives_the_plain_answers(variant: str, features: set[str]) -> None:
    # cases 3, 4, 5, 6, 8, 13, 18, 62, 78
    scenario(variant, features, USERS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_prompts_around_and_beyond_a_window(variant: str) -> None:
    # cases 3, 4
    users = [greedy(words(length, 4), 16) for length in (14, 34, 72)]
    for features in ({"again"}, {"store"}, {"again", "drafts"}, {"together", "again", "chunks"}):
        scenario(variant, features, users)


def test_a_window_changes_what_the_fake_model_says_beyond_it() -> None:
    request = greedy(words(72), 16)
    assert plain(request, window=24) != plain(request)
    assert plain(greedy(words(10), 5), window=24) == plain(greedy(words(10), 5))


# Reuse in memory.


def test_four_users_of_one_prefix_at_once_compute_it_once() -> None:
    # cases 18, 20, 78
    backend = FakeBackend(cells=1024)
    engine = engine_on(backend)
    play(engine, greedy(SYSTEM, 1))
    before = backend.rows_computed
    users = [greedy((*SYSTEM, 97 + i), 6, ignore_end=True) for i in range(4)]
    for user, found in zip(users, play(engine, *users), strict=True):
        assert found.said == plain(user)
        assert found[0].usage.reused == {"ram": 40}
    assert backend.rows_computed - before == 4 * (1 + 5)


def test_a_running_sequence_gives_its_prefix_away() -> None:
    backend = FakeBackend(cells=1024)
    engine = engine_on(backend)
    first = submit(engine, greedy(SYSTEM, 60, ignore_end=True))
    for _ in range(5):
        step(engine)
    second = submit(engine, greedy((*SYSTEM, *b"more"), 6))
    run(engine)
    assert first.said == plain(greedy(SYSTEM, 60, ignore_end=True))
    assert second.said == plain(greedy((*SYSTEM, *b"more"), 6))
    assert second[0].usage.reused == {"ram": 40}


def test_the_answer_is_remembered_too() -> None:
    # case 20
    engine = engine_on()
    first = play(engine, greedy(words(100), 50, ignore_end=True))[0][0]
    again = greedy((*words(100), *first.tokens, *b"and"), 4)
    second = play(engine, again)[0]
    assert second.said == plain(again)
    assert second[0].usage.reused == {"ram": 149}


def test_the_same_request_three_times_and_an_edited_one() -> None:
    # cases 4, 7, 105
    for backend in ({}, {"window": 24}):
        engine = engine_on(FakeBackend(**backend))
        for count in range(3):
            found = play(engine, greedy(words(150), 4))[0]
            assert found.said == plain(greedy(words(150), 4), **backend)
            assert found[0].usage.prompt == 150
            assert found[0].usage.reused == ({"ram": 149} if count else {})
        edited = greedy((*words(120), *b"edited"), 4)
        found = play(engine, edited)[0]
        assert found.said == plain(edited, **backend)
        assert found[0].usage.reused == {"ram": 120}


@pytest.mark.parametrize("max_tokens", [1, 5])
def test_a_prompt_that_memory_holds_whole_still_computes_its_last_token(max_tokens: int) -> None:
    # case 7
    for recurrent in (False, True):
        engine = engine_on(FakeBackend(recurrent=recurrent))
        play(engine, greedy(words(60), 20))
        for length in (60, 59, 30, 1):
            request = greedy(words(length), max_tokens)
            found = play(engine, request)[0]
            assert found.said == plain(request)
            assert found[0].usage.computed >= 1
            assert found[0].usage.prompt == length


def test_only_ids_that_agree_are_shared() -> None:
    # cases 13, 14, 16: reuse compares token ids, never texts
    newlines = vocabulary.tokenize("\n\n")
    assert newlines != [10, 10]
    engine = engine_on()
    play(engine, greedy((*prompt("a"), 10, 10, *b"tail"), 4))
    other = greedy((*prompt("a"), *newlines, *b"tail"), 4)
    found = play(engine, other)[0]
    assert found[0].usage.reused == {"ram": 2}
    assert found.said == plain(other)


def test_identical_recurrent_prompts_in_flight_share_all_but_the_last_token() -> None:
    # cases 5, 6
    backend = FakeBackend(recurrent=True)
    engine = engine_on(backend)
    users = [sampled(words(60), 6, seed=seed) for seed in range(4)]
    found = play(engine, *users)
    assert [f.said for f in found] == [plain(user) for user in users]
    assert sorted(f[0].usage.computed for f in found) == [1, 1, 1, 60]


def test_a_recurrent_chat_goes_on_where_it_ended_and_starts_anew_elsewhere() -> None:
    # case 5
    engine = engine_on(FakeBackend(recurrent=True))
    first = play(engine, greedy((*SYSTEM, *b"one"), 8, ignore_end=True))[0]
    second = play(engine, greedy((*SYSTEM, *b"two"), 8))[0]
    assert second.said == plain(greedy((*SYSTEM, *b"two"), 8))
    assert second[0].usage.reused == {}
    longer = greedy((*SYSTEM, *b"one", *first[0].tokens, *b"more"), 8)
    third = play(engine, longer)[0]
    assert third.said == plain(longer)
    assert third[0].usage.reused == {"ram": 43 + 7}
    again = play(engine, greedy((*SYSTEM, *b"one"), 8, ignore_end=True))[0]
    assert again.said == first.said


def test_reuse_false_computes_everything_and_is_remembered() -> None:
    engine = engine_on()
    play(engine, greedy(SYSTEM))
    alone = play(engine, greedy(SYSTEM, reuse=False))[0]
    assert alone[0].usage.computed == 40
    assert play(engine, greedy(SYSTEM))[0][0].usage.reused == {"ram": 39}


def test_tenants_never_share() -> None:
    # case 138
    engine = engine_on(FakeBackend(cells=2048))
    secret = words(120)
    play(engine, greedy(secret, tenant="one"))
    for tenant in ("two", ""):
        found = play(engine, greedy(secret, tenant=tenant))[0]
        assert found[0].usage.reused == {}
        assert found.said == plain(greedy(secret))
    assert play(engine, greedy(secret, tenant="one"))[0][0].usage.reused == {"ram": 119}
    assert play(engine, greedy(secret, tenant="two"))[0][0].usage.reused == {"ram": 119}
    # Not in flight either, and nobody waits for a stranger.
    fresh = words(120, 9)
    one, two = play(engine, greedy(fresh, tenant="one"), greedy(fresh, tenant="two"))
    assert (one[0].usage.computed, two[0].usage.computed) == (119, 119)  # all but the beginning token


# Choices.


@pytest.mark.parametrize("recurrent", [False, True])
def test_choices_share_the_prefill(recurrent: bool) -> None:
    # case 110
    backend = FakeBackend(recurrent=recurrent)
    request = sampled(words(60), 5, n=3, ignore_end=True)
    found = play(engine_on(backend), request)[0]
    assert found.said == plain(request)
    assert backend.rows_computed == 60 + 2 * 1 + 3 * 4
    assert sum(answer.usage.computed for answer in found) == 62


def test_greedy_choices_are_computed_once() -> None:
    # case 115
    backend = FakeBackend()
    found = play(engine_on(backend), greedy(words(60), 5, n=3, ignore_end=True, logprobs=1))[0]
    assert backend.rows_computed == 64
    assert found[0].said == found[1].said == found[2].said == plain(greedy(words(60), 5, ignore_end=True))[0]
    assert found[0].logprobs == found[2].logprobs


def test_more_choices_than_places_wait_their_turn() -> None:
    # case 110
    request = sampled(words(30), 5, n=11)
    assert play(engine_on(parallel=2), request)[0].said == plain(request)


# Ends.


def test_end_tokens_stop_tokens_and_ignoring_the_end() -> None:
    says = {"count": "one two"}
    [answer] = play(engine_on(FakeBackend(replies=says)), greedy("count", 60))[0]
    assert (answer.text, answer.reason, answer.finished.stopped_by) == ("one two", "stop", vocabulary.EOS)  # type: ignore[union-attr]
    assert answer.usage.completion == 8
    assert vocabulary.EOS not in answer.tokens
    [answer] = play(
        engine_on(FakeBackend(replies=says)), greedy("count", 60, stop_tokens=frozenset({ord(" ")}))
    )[0]
    assert (answer.text, answer.finished.stopped_by) == ("one", ord(" "))  # type: ignore[union-attr]
    [answer] = play(engine_on(FakeBackend(replies=says)), greedy("count", 20, ignore_end=True))[0]
    assert (answer.reason, answer.usage.completion) == ("length", 20)
    assert answer.text.startswith("one two")
    assert vocabulary.EOS in answer.tokens


@pytest.mark.parametrize("max_tokens", [1, 2, 3])
@pytest.mark.parametrize("parallel", [1, 4])
@pytest.mark.parametrize("drafts", [False, True])
def test_exactly_so_many_tokens(max_tokens: int, parallel: int, drafts: bool) -> None:
    # case 69
    request = greedy("question", max_tokens, ignore_end=True)
    drafter = Drafter()
    if drafts:
        drafter.learn(request)
    engine = engine_on(hooks=drafter.hooks, parallel=parallel)
    for found in play(engine, *[request] * 4):
        assert found[0].usage.completion == len(found[0].tokens) == max_tokens
        assert found[0].reason == "length"


@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("busy", [False, True])
def test_one_rule_for_long_prompts_under_any_load(parallel: int, busy: bool) -> None:
    # cases 64, 65, 66
    engine = engine_on(FakeBackend(cells=200), context_length=100, parallel=parallel)
    if busy:
        for i in range(3):
            submit(engine, greedy(words(30, 50 + i), 60, ignore_end=True))
        step(engine)
    for over in (-2, -1, 0, 1):
        for max_tokens in (1, 10, None):
            request = greedy(words(100 + over), max_tokens, ignore_end=True)
            if over >= 0:
                with pytest.raises(ContextLengthExceeded) as caught:
                    engine.submit(request, lambda events: None)
                assert (caught.value.prompt_tokens, caught.value.context_length) == (100 + over, 100)
                assert str(100 + over) in str(caught.value)
                assert "100" in str(caught.value)
                assert caught.value.code == "context_length_exceeded"
                continue
            found = submit(engine, request)
            while not found.done:
                step(engine)
            assert found[0].reason == "length"
            assert found[0].usage.completion == min(-over, max_tokens or 100)
    run(engine)


def test_the_context_ends_an_answer_and_a_short_chat_works_after_it() -> None:
    # cases 67, 68
    engine = engine_on(FakeBackend(cells=100), context_length=100)
    for _ in range(5):
        for max_tokens in (None, 100_000):
            [answer] = play(engine, greedy(words(60), max_tokens, ignore_end=True))[0]
            assert answer.reason == "length"
            assert answer.usage.prompt + answer.usage.completion == 100
        short = play(engine, greedy("hi", 10))[0]
        assert short.said == plain(greedy("hi", 10))


def test_a_context_larger_than_the_memory_is_refused() -> None:
    with pytest.raises(ConfigError, match="300 tokens"):
        engine_on(FakeBackend(cells=200), context_length=300)


def test_more_places_than_sequence_numbers_are_refused() -> None:
    with pytest.raises(ConfigError, match="parallel"):
        engine_on(FakeBackend(max_sequences=6), parallel=5)
    engine = engine_on(FakeBackend(max_sequences=6), parallel=4)
    users = [greedy(f"user {i}") for i in range(9)]
    assert [a.said for a in play(engine, *users)] == [plain(user) for user in users]


@pytest.mark.parametrize(
    "request_of",
    [
        lambda: greedy((vocabulary.SIZE,)),
        lambda: greedy((-1,)),
        lambda: greedy("a", sampling=SamplingParams(logit_bias={vocabulary.SIZE: 1.0})),
    ],
)
def test_tokens_outside_the_vocabulary_are_refused(request_of: Any) -> None:
    engine = engine_on()
    with pytest.raises(InvalidRequest):
        engine.submit(request_of(), lambda events: None)
    assert engine.idle


def test_usage_adds_up_and_times_are_told() -> None:
    # cases 55, 105
    engine = engine_on(FakeBackend(max_rows=16), parallel=2)
    for found in play(engine, *USERS, *USERS):
        for answer in found:
            usage = answer.usage
            assert usage.prompt == len(found.request.prompt) == usage.computed + sum(usage.reused.values())
            assert usage.completion >= len(answer.tokens)
            assert answer.finished is not None
            times = answer.finished.timings
            assert min(times.queued, times.prefill, times.decode) >= 0


# Failures.


@pytest.mark.parametrize("fail_on", range(6))
@pytest.mark.parametrize("recurrent", [False, True])
def test_a_failing_batch_fails_its_sequences_only(fail_on: int, recurrent: bool) -> None:
    # case 108
    backend = FakeBackend(fail_on=[fail_on], recurrent=recurrent, max_rows=32)
    engine = engine_on(backend, parallel=2)
    users = [greedy((*words(30, i), 97), 4, ignore_end=True) for i in range(5)]
    found = play(engine, *users)
    failed = [f for f in found if f[0].error]
    assert 1 <= len(failed) <= 2
    assert all(isinstance(f[0].error, EngineError) for f in failed)
    for user, f in zip(users, found, strict=True):
        if f not in failed:
            assert f.said == plain(user)
    for user in users:
        assert play(engine, user)[0].said == plain(user)
    check_empty(engine)


def test_a_failed_donor_is_not_waited_for() -> None:
    backend = FakeBackend(fail_on=[0], max_rows=16)
    engine = engine_on(backend)
    found = play(engine, *[greedy(words(60), 3)] * 3)
    assert [f[0].error is None for f in found] == [False, True, True]
    assert found[1].said == plain(greedy(words(60), 3))
    # The other two did not both compute the prompt.
    assert sorted(f[0].usage.computed for f in found[1:]) == [1, 60]


def test_what_an_unknown_error_says_becomes_an_engine_error() -> None:
    class Odd(FakeBackend):
        def decode(self, rows: Any) -> None:
            if self.decodes == 0:
                self.decodes += 1
                raise ZeroDivisionError("odd")
            super().decode(rows)

    engine = engine_on(Odd())
    [answer] = play(engine, greedy("a"))[0]
    assert isinstance(answer.error, EngineError)
    assert "odd" in str(answer.error)
    assert play(engine, greedy("a"))[0].said == plain(greedy("a"))


def test_no_free_cells_forget_what_is_remembered_and_go_on() -> None:
    backend = StumblingBackend(out_of_cells=[6])
    engine = engine_on(backend)
    play(engine, greedy(words(60), 4, ignore_end=True))
    assert engine.memory.resident
    other = greedy(words(60, 1), 4, ignore_end=True)
    assert play(engine, other)[0].said == plain(other)
    assert len(engine.memory.resident) == 1


@pytest.mark.parametrize("remembered", [False, True])
def test_no_free_cells_at_all_fail_the_batch(remembered: bool) -> None:
    backend = StumblingBackend(out_of_cells=[6, 7] if remembered else [2])
    engine = engine_on(backend)
    if remembered:
        play(engine, greedy("another", 4, ignore_end=True))
    [answer] = play(engine, greedy("question", 8))[0]
    assert isinstance(answer.error, EngineError)
    assert play(engine, greedy("question", 8))[0].said == plain(greedy("question", 8))
    check_empty(engine)


def wrong_guess(truth: list[int], limit: int) -> list[int]:
    return [1] * min(limit, 3)


class NoNumbers(FakeBackend):
    """Computes nonsense from the third batch on, as a damaged model does."""

    def logits(self) -> NDArray[np.float32]:
        lines = super().logits().copy()
        if self.decodes > 2:
            lines[:] = np.nan
        return lines


@pytest.mark.parametrize("drafts", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_logits_that_are_no_numbers_fail_the_request(drafts: bool, temperature: float) -> None:
    hooks = EngineHooks(propose_draft=hook(lambda s, limit: Draft([97] * min(limit, 3)) if drafts else None))
    request = greedy("question", 8, sampling=SamplingParams(temperature=temperature, seed=1))
    [answer] = play(engine_on(NoNumbers(), hooks), request)[0]
    assert isinstance(answer.error, EngineError)
    assert "finite" in str(answer.error)


def test_fail_all_ends_everything_and_later_requests_are_right() -> None:
    engine = engine_on(hooks=Drafter(wrong_guess).hooks, parallel=2)
    found = [submit(engine, sampled(words(40, i), 8, n=2)) for i in range(3)]
    for _ in range(3):
        step(engine)
    engine.fail_all(EngineError("the sky fell"))
    assert all(f.done for f in found)
    assert all("sky" in str(a.error) for f in found for a in f if a.error)
    assert any(a.error for f in found for a in f)
    check_empty(engine)
    assert engine.records.tracks == {}
    assert play(engine, greedy("a"))[0].said == plain(greedy("a"))


def test_fail_all_tells_everybody_even_if_the_backend_is_beyond_repair() -> None:
    class Broken(FakeBackend):
        broken = False

        def truncate(self, sequence: int, length: int) -> bool:
            if self.broken:
                raise RuntimeError("broken for good")
            return super().truncate(sequence, length)

    backend = Broken()
    engine = engine_on(backend)
    found = submit(engine, greedy(words(40), 8))
    step(engine)
    backend.broken = True
    engine.fail_all(EngineError("the sky fell"))
    assert found.done
    assert engine.idle
    assert engine.memory.ledger.used == 0


def test_a_failing_sink_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    engine = engine_on()

    def sink(events: Any) -> None:
        raise OSError("nobody listens")

    engine.submit(greedy("deaf", 30), sink)
    [found] = play(engine, greedy("question"))
    assert found.said == plain(greedy("question"))
    assert "a request's sink failed" in caplog.text
    check_empty(engine)


def test_rows_carry_what_the_backend_needs() -> None:
    backend = Spied()
    play(engine_on(backend), greedy(words(10), 3, ignore_end=True))
    first, *others = backend.batches
    assert first.tokens == list(words(10))
    assert first.positions == list(range(10))
    assert first.wanted == [False] * 9 + [True]
    assert first.outputs == 1
    assert [len(rows) for rows in others] == [1, 1]
    assert [rows.positions for rows in others] == [[10], [11]]


def test_answers_helper_runs_apart_and_together() -> None:
    users = USERS[:3]
    assert answers({}, {}, *users) == answers({}, {}, *users, apart=True) == [plain(u) for u in users]
