"""The five hooks of the engine: what plugins are given, what becomes of their answers, and of bad ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reame_core.engine.events import Finished, Won
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import SamplingParams
from reame_core.engine.verification import CoreVerifier
from reame_core.plugins.api import CandidateState, Draft, Group, Stage, Verdict
from reame_core.testing import FakeBackend
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import (
    Drafter,
    MemoryStore,
    check_empty,
    engine_on,
    greedy,
    hook,
    plain,
    play,
    run,
    sampled,
    step,
    submit,
    words,
)

LONG = words(100)


def raising(*arguments: Any) -> Any:
    raise RuntimeError("this plugin is broken")


# on_prefill


def test_hook_on_prefill_restores_what_another_engine_computed() -> None:
    # cases 1, 7, 105
    store = MemoryStore()
    first = engine_on(hooks=store.hooks)
    wanted = play(first, greedy(LONG))[0][0]
    assert wanted.said == plain(greedy(LONG))[0]
    for request in (greedy(LONG), sampled(LONG, seed=3), greedy((*LONG, 98, 99)), greedy(LONG[:65])):
        backend = FakeBackend()
        answer = play(engine_on(backend, store.hooks), request)[0][0]
        assert answer.said == plain(request)[0]
        length = len(request.prompt)
        restored = (length - 1) // 16 * 16
        assert answer.usage.reused == {"store": restored}
        assert answer.usage.computed == length - restored
        assert answer.usage.prompt == length
        assert backend.rows_computed == length - restored + answer.usage.completion - 1


def test_hook_on_prefill_comes_after_what_is_in_memory() -> None:
    lengths: list[int] = []

    def look(sequence: Any, kv: Any) -> None:
        lengths.append(kv.length)

    engine = engine_on(hooks=EngineHooks(on_prefill=hook(look)))
    play(engine, greedy(LONG), greedy(words(100, 1)))
    play(engine, greedy((*LONG[:50], 97)))
    assert lengths == [0, 0, 50]


def test_hook_on_prefill_is_called_once_before_the_first_row() -> None:
    calls: list[int] = []
    backend = FakeBackend(max_rows=8)

    def look(sequence: Any, kv: Any) -> None:
        calls.append(backend.rows_computed)
        assert sequence.computed == kv.length
        assert sequence.tokens.tolist() == list(LONG)

    engine = engine_on(backend, EngineHooks(on_prefill=hook(look)))
    play(engine, greedy(LONG))
    assert calls == [0]


def test_hook_on_prefill_first_answer_ends_the_search() -> None:
    asked: list[str] = []
    store = MemoryStore()
    play(engine_on(hooks=store.hooks), greedy(LONG))

    def nothing(sequence: Any, kv: Any) -> None:
        asked.append("nothing")

    def never(sequence: Any, kv: Any) -> None:
        asked.append("never")

    hooks = EngineHooks(on_prefill=hook(nothing, store.on_prefill, never))
    answer = play(engine_on(hooks=hooks), greedy(LONG))[0][0]
    assert asked == ["nothing"]
    assert answer.usage.reused == {"plugin1": 96}


def test_hook_on_prefill_two_plugins_may_each_restore_a_part() -> None:
    store = MemoryStore()
    play(engine_on(hooks=store.hooks), greedy(LONG))

    def some(sequence: Any, kv: Any) -> None:
        kv.restore(16, store.states[LONG[:16]])

    hooks = EngineHooks(on_prefill=hook(some, store.on_prefill))
    answer = play(engine_on(hooks=hooks), greedy(LONG))[0][0]
    assert answer.said == plain(greedy(LONG))[0]
    assert answer.usage.reused == {"plugin0": 16, "plugin1": 80}


def test_hook_on_prefill_raising_in_the_middle_keeps_what_was_restored(caplog: Any) -> None:
    store = MemoryStore()
    play(engine_on(hooks=store.hooks), greedy(LONG))

    def half(sequence: Any, kv: Any) -> None:
        kv.restore(16, store.states[LONG[:16]])
        raising()

    engine = engine_on(hooks=EngineHooks(on_prefill=hook(half)))
    answer = play(engine, greedy(LONG))[0][0]
    assert answer.said == plain(greedy(LONG))[0]
    assert answer.usage.reused == {"plugin": 16}
    assert "this plugin is broken" in caplog.text
    check_empty(engine)


@pytest.mark.parametrize("answer", ["yes", 1.5, True, [3], object()])
def test_hook_on_prefill_wrong_answers_are_ignored_and_logged(answer: Any, caplog: Any) -> None:
    store = MemoryStore()
    play(engine_on(hooks=store.hooks), greedy(LONG))
    hooks = EngineHooks(on_prefill=hook(lambda sequence, kv: answer, store.on_prefill))
    found = play(engine_on(hooks=hooks), greedy(LONG))[0][0]
    assert found.usage.reused == {"plugin1": 96}
    assert "plugin0" in caplog.text


def test_hook_on_prefill_cannot_restore_the_last_prompt_token_or_backwards() -> None:
    # case 7
    store = MemoryStore(block=100)
    play(engine_on(hooks=store.hooks), greedy((*LONG, 97)))
    errors: list[str] = []

    def all_of_it(sequence: Any, kv: Any) -> None:
        for end in (100, 101, 0, -1):
            try:
                kv.restore(end, store.states[LONG])
            except ValueError as error:
                errors.append(str(error))

    found = play(engine_on(hooks=EngineHooks(on_prefill=hook(all_of_it))), greedy(LONG))[0][0]
    assert len(errors) == 4
    assert found.said == plain(greedy(LONG))[0]
    assert found.usage.computed == 100


FOREIGN = {
    "junk": lambda store: b"junk",
    "nothing": lambda store: b"",
    "damaged": lambda store: store.states[LONG[:16]][:-3],
    "padded": lambda store: store.states[LONG[:16]] + bytes(64),
    "of other positions": lambda store: store.states[LONG[:32]],
    "longer": lambda store: store.states[LONG[:48]],
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_hook_on_prefill_a_foreign_state_is_refused_and_leaves_nothing(kind: str) -> None:
    # cases 2, 12, 23
    store = MemoryStore()
    play(engine_on(hooks=store.hooks), greedy(LONG))
    state = FOREIGN[kind](store)
    refused: list[bool] = []

    def restore(sequence: Any, kv: Any) -> None:
        if sequence.request.prompt == LONG:
            refused.append(kv.restore(16, state))

    engine = engine_on(hooks=EngineHooks(on_prefill=hook(restore)))
    other = greedy(LONG[:0:-1])
    control = plain(other)[0]
    assert play(engine, other)[0][0].said == control
    found = play(engine, greedy(LONG))[0][0]
    assert refused == [False]
    assert found.said == plain(greedy(LONG))[0]
    assert found.usage.reused == {}
    for _ in range(5):
        assert play(engine, other)[0][0].said == control
    check_empty(engine)


def test_hook_on_prefill_without_free_cells_computes() -> None:
    # case 23
    store = MemoryStore()
    play(engine_on(hooks=store.hooks), greedy(LONG))

    class Full(FakeBackend):
        def import_range(self, *arguments: Any) -> bool:
            return False

    found = play(engine_on(Full(), store.hooks), greedy(LONG))[0][0]
    assert found.said == plain(greedy(LONG))[0]
    assert found.usage.reused == {}


def test_hook_on_prefill_is_not_called_without_reuse() -> None:
    store = MemoryStore()
    engine = engine_on(hooks=store.hooks)
    for _ in range(2):
        found = play(engine, greedy(LONG, reuse=False))[0][0]
        assert found.usage.reused == {}
        assert found.usage.computed == 100


def test_kv_access_is_useless_after_the_call() -> None:
    kept: list[Any] = []

    def keep(sequence: Any, kv: Any, *rest: Any) -> None:
        kept.append(kv)

    engine = engine_on(hooks=EngineHooks(on_prefill=hook(keep), persist=hook(keep)))
    play(engine, greedy(LONG))
    assert len(kept) == 3
    for kv in kept:
        for use in (lambda kv: kv.length, lambda kv: kv.export(0, 1), lambda kv: kv.restore(16, b"")):
            with pytest.raises(RuntimeError, match="only valid during the hook call"):
                use(kv)


# propose_draft


def test_hook_propose_draft_is_asked_for_what_there_is_room_for() -> None:
    asked: list[tuple[int, int, int]] = []

    def propose(sequence: Any, limit: int) -> None:
        asked.append((len(sequence.tokens), sequence.room, limit))
        generated = len(sequence.tokens) - sequence.prompt_length
        assert sequence.computed == (len(sequence.tokens) - 1 if generated else 0)

    request = greedy("question", 6, ignore_end=True)
    found = play(engine_on(hooks=EngineHooks(propose_draft=hook(propose)), max_draft=3), request)[0][0]
    length = len(request.prompt)
    assert asked == [
        (length, 6, 3),  # together with the prompt
        (length + 1, 5, 3),
        (length + 2, 4, 3),
        (length + 3, 3, 2),
        (length + 4, 2, 1),
    ]
    assert found.said == plain(request)[0]


def test_hook_propose_draft_a_usable_draft_wins_over_none() -> None:
    request = greedy("question", 12)
    good = Drafter()
    good.learn(request)
    hooks = EngineHooks(propose_draft=hook(lambda *a: None, raising, good.propose, lambda *a: None))
    found = play(engine_on(hooks=hooks), request)[0][0]
    assert found.said == plain(request)[0]
    assert good.calls > 0
    assert set(found.usage.drafts) == {"plugin2"}


# verify


def verdicts_of(verify: Any, request: Any, *more: Any) -> Any:
    drafter = Drafter(lambda truth, limit: [*truth[:2], 1][:limit])
    drafter.learn(request)
    hooks = replace(drafter.hooks, verify=hook(verify, *more))
    return play(engine_on(hooks=hooks), request)[0][0]


def test_hook_verify_sees_the_draft_and_a_line_for_each_token_and_one_more() -> None:
    shapes: list[tuple[int, int]] = []
    request = greedy("question", 12, ignore_end=True)

    def look(sequence: Any, draft: Draft, logits: Any, chooser: Any) -> None:
        shapes.append((len(draft.tokens), len(logits)))
        assert logits.shape[1] == vocabulary.SIZE
        with pytest.raises(ValueError):
            logits[0, 0] = 1

    assert verdicts_of(look, request).said == plain(request)[0]
    assert shapes
    assert all(lines == drafted + 1 for drafted, lines in shapes)


def test_hook_verify_decides() -> None:
    request = greedy("question", 6, ignore_end=True)
    found = verdicts_of(lambda s, draft, logits, chooser: Verdict(len(draft.tokens), 98), request)
    bare = play(engine_on(), request)[0][0]
    assert found.tokens[:4] == [*bare.tokens[:2], 1, 98]
    assert found.usage.completion == 6


WRONG_VERDICTS: list[Any] = [
    True,
    "three",
    7,
    (1, 97),
    Verdict(-1, 97),
    Verdict(4, 97),
    Verdict(1, -1),
    Verdict(1, vocabulary.SIZE),
    Verdict("1", 97),  # type: ignore[arg-type]
    Verdict(None, 97),  # type: ignore[arg-type]
    Verdict(1, "x"),  # type: ignore[arg-type]
    Verdict(1.5, 97),  # type: ignore[arg-type]
    Verdict(1, 97.5),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("wrong", WRONG_VERDICTS, ids=range(len(WRONG_VERDICTS)))
@pytest.mark.parametrize("others", [(), (CoreVerifier().verify,)], ids=["alone", "before the core's"])
def test_hook_verify_wrong_answers_are_ignored_and_logged(wrong: Any, others: Any, caplog: Any) -> None:
    request = sampled("question", 12, seed=2, ignore_end=True)
    assert verdicts_of(lambda *a: wrong, request, *others).said == plain(request)[0]
    assert "plugin" in caplog.text


@pytest.mark.parametrize("ending", [raising, lambda *a: None, lambda *a: "no verdict"])
def test_hook_verify_that_gives_up_half_way_leaves_no_trace(ending: Any) -> None:
    """It has drawn random numbers and counted tokens for the penalties: neither may show."""
    params = SamplingParams(temperature=0.9, frequency_penalty=1.5, repeat_penalty=1.3, seed=5)
    request = greedy("question", 16, sampling=params, ignore_end=True)

    def half(sequence: Any, draft: Draft, logits: Any, chooser: Any) -> Any:
        for token in (97, 98, 98, *draft.tokens):
            chooser.choose(logits[0])
            chooser.accept(token)
        return ending()

    for others in ((), (CoreVerifier().verify,)):
        assert verdicts_of(half, request, *others).said == plain(request)[0]


def test_hook_verify_the_cores_own_is_the_default() -> None:
    for request in (greedy("question", 12), sampled("question", 12, seed=2)):
        assert verdicts_of(CoreVerifier().verify, request).said == plain(request)[0]


def test_hook_verify_numpy_numbers_are_a_verdict() -> None:
    request = greedy("question", 12, ignore_end=True)

    def verify(sequence: Any, draft: Draft, logits: Any, chooser: Any) -> Any:
        best = logits.argmax(axis=1)
        same = best[:-1] == draft.tokens
        accepted = np.int64(len(same) if same.all() else same.argmin())
        return Verdict(accepted, best[accepted])

    assert verdicts_of(verify, request).said == plain(request)[0]


def test_hook_verify_cannot_change_the_draft_under_the_engine() -> None:
    request = greedy("question", 12, ignore_end=True)

    def meddle(sequence: Any, draft: Any, logits: Any, chooser: Any) -> None:
        draft.tokens[0] = 1

    assert verdicts_of(meddle, request).said == plain(request)[0]


# select_winner


def longest_wins(group: Group) -> int | None:
    done = [c for c in group.candidates if c.state is not CandidateState.RUNNING]
    return done[0].choice if done else None


CONTEST = sampled("question", 40, seed=3, n=4, select=True, stop=("a", "e"))


def test_hook_select_winner_stops_the_others_and_tells() -> None:
    engine = engine_on(hooks=EngineHooks(select_winner=hook(longest_wins)))
    [answers] = play(engine, CONTEST)
    assert answers.winner is not None
    won = answers[answers.winner]
    assert won.said == plain(CONTEST)[answers.winner]
    assert [a.reason for a in answers].count("cancelled") == 3
    assert sum(isinstance(e, Won) for e in answers.events) == 1
    at = answers.events.index(Won(answers.winner))
    assert won.finished in answers.events[:at]
    assert all(isinstance(e, Finished) for e in answers.events[at + 1 :])
    check_empty(engine)


def test_hook_select_winner_sees_every_candidate() -> None:
    seen: list[Group] = []

    def look(group: Group) -> None:
        seen.append(group)

    [answers] = play(engine_on(parallel=2, hooks=EngineHooks(select_winner=hook(look))), CONTEST)
    assert answers.said == plain(CONTEST)
    assert answers.winner is None
    last = seen[-1]
    assert [c.choice for c in last.candidates] == [0, 1, 2, 3]
    assert [c.text for c in last.candidates] == [a.text for a in answers]
    assert [c.tokens for c in last.candidates] == [a.usage.completion for a in answers]
    assert all(c.logprob < 0 for c in last.candidates)
    assert all(c.state is CandidateState.ENDED for c in last.candidates)
    assert last.request is CONTEST
    assert sum(c.state is not CandidateState.RUNNING for c in seen[0].candidates) >= 1


def test_hook_select_winner_is_not_called_before_a_candidate_has_ended() -> None:
    calls: list[int] = []

    def look(group: Group) -> None:
        calls.append(sum(c.state is not CandidateState.RUNNING for c in group.candidates))

    play(engine_on(hooks=EngineHooks(select_winner=hook(look))), CONTEST)
    assert all(calls)
    assert calls == sorted(set(calls))


def test_hook_select_winner_takes_queued_choices_out() -> None:
    engine = engine_on(parallel=1, hooks=EngineHooks(select_winner=hook(longest_wins)))
    [answers] = play(engine, CONTEST)
    assert answers.winner == 0
    assert [a.reason for a in answers[1:]] == ["cancelled"] * 3
    assert [a.usage.completion for a in answers[1:]] == [0, 0, 0]


@pytest.mark.parametrize("answer", ["0", 4, -1, 1.0, True, None, [0], object()])
def test_hook_select_winner_wrong_answers_are_ignored_and_logged(answer: Any, caplog: Any) -> None:
    hooks = EngineHooks(select_winner=hook(lambda group: answer))
    [answers] = play(engine_on(hooks=hooks), CONTEST)
    assert answers.said == plain(CONTEST)
    assert answers.winner is None
    assert ("plugin" in caplog.text) == (answer is not None)


def test_hook_select_winner_cannot_choose_who_still_runs_or_has_failed(caplog: Any) -> None:
    def running(group: Group) -> int | None:
        return next((c.choice for c in group.candidates if c.state is CandidateState.RUNNING), None)

    [answers] = play(engine_on(hooks=EngineHooks(select_winner=hook(running))), CONTEST)
    assert answers.said == plain(CONTEST)
    assert answers.winner is None
    assert "no choice that has ended" in caplog.text

    def failed(group: Group) -> int | None:
        return next((c.choice for c in group.candidates if c.state is CandidateState.FAILED), None)

    engine = engine_on(FakeBackend(fail_on=[3]), EngineHooks(select_winner=hook(failed)), parallel=2)
    [answers] = play(engine, replace(CONTEST, stop=()))
    assert answers.winner is None
    assert [a.error is None for a in answers] == [False, False, True, True]


def test_hook_select_winner_may_choose_a_truncated_one() -> None:
    def first(group: Group) -> int | None:
        return next((c.choice for c in group.candidates if c.state is CandidateState.TRUNCATED), None)

    request = sampled("question", 5, seed=3, n=3, select=True, ignore_end=True)
    [answers] = play(engine_on(hooks=EngineHooks(select_winner=hook(first))), request)
    assert answers.winner == 0
    assert answers[0].reason == "length"


def test_hook_select_winner_raising_or_absent_lets_all_end() -> None:
    for hooks in (EngineHooks(), EngineHooks(select_winner=hook(raising))):
        [answers] = play(engine_on(hooks=hooks), CONTEST)
        assert answers.said == plain(CONTEST)
        assert answers.winner is None


def test_hook_select_winner_is_only_for_requests_that_ask() -> None:
    def never(group: Group) -> int:
        raise AssertionError

    [answers] = play(engine_on(hooks=EngineHooks(select_winner=hook(never))), replace(CONTEST, select=False))
    assert answers.said == plain(CONTEST)


def test_hook_select_winner_is_not_asked_about_cancelled_requests() -> None:
    asked: list[Group] = []
    engine = engine_on(hooks=EngineHooks(select_winner=hook(asked.append)))
    answers = submit(engine, replace(CONTEST, stop=()))
    step(engine)
    assert answers.group is not None
    engine.cancel(answers.group)
    run(engine)
    assert asked == []
    assert [a.reason for a in answers] == ["cancelled"] * 4


def test_hook_select_winner_greedy_candidates_are_all_computed() -> None:
    request = greedy("question", 6, n=3, select=True, ignore_end=True)
    hooks = EngineHooks(select_winner=hook(longest_wins))
    [answers] = play(engine_on(hooks=hooks), request)
    assert answers.winner == 0


# persist


def test_hook_persist_at_the_prefix_and_at_the_end() -> None:
    calls: list[tuple[Stage, int, int, int]] = []

    def look(sequence: Any, kv: Any, stage: Stage) -> None:
        calls.append((stage, kv.length, len(sequence.tokens), sequence.computed))
        with pytest.raises(ValueError):
            kv.export(0, kv.length + 1)
        with pytest.raises(ValueError):
            kv.restore(kv.length + 1, b"")
        assert kv.export(0, kv.length)

    engine = engine_on(FakeBackend(max_rows=16), EngineHooks(persist=hook(look)))
    play(engine, greedy(LONG, 5, ignore_end=True))
    assert calls == [(Stage.PREFIX, 100, 100, 100), (Stage.END, 104, 105, 104)]


def test_hook_persist_end_comes_for_cancelled_ones_too() -> None:
    # case 25
    calls: list[tuple[Stage, int]] = []
    hooks = EngineHooks(persist=hook(lambda sequence, kv, stage: calls.append((stage, kv.length))))
    engine = engine_on(FakeBackend(max_rows=16), hooks)
    filling = submit(engine, greedy(LONG))
    queued = submit(engine, greedy(words(100, 1)))
    step(engine)
    assert filling.group is not None
    assert queued.group is not None
    engine.cancel(filling.group)
    engine.cancel(queued.group)
    assert [stage for stage, _ in calls] == [Stage.END] * 2
    assert all(0 < length < 100 for _, length in calls)


def test_hook_persist_is_not_called_for_failed_ones() -> None:
    calls: list[Stage] = []
    hooks = EngineHooks(persist=hook(lambda sequence, kv, stage: calls.append(stage)))
    play(engine_on(FakeBackend(fail_on=[1]), hooks), greedy("question"))
    assert calls == [Stage.PREFIX]


def test_hook_persist_exports_only_what_was_said() -> None:
    """Rejected drafts and what lies behind the end are gone by then."""
    states: list[bytes] = []
    request = greedy("question", 12, ignore_end=True)
    drafter = Drafter(lambda truth, limit: [*truth[:2], 1, 2, 3][:limit])
    drafter.learn(request)

    def keep(sequence: Any, kv: Any, stage: Stage) -> None:
        states.append(kv.export(0, kv.length))

    bare = engine_on(hooks=EngineHooks(persist=hook(keep)))
    play(bare, request)
    play(engine_on(hooks=replace(drafter.hooks, persist=hook(keep))), request)
    assert states[:2] == states[2:]


def test_hook_persist_raising_changes_nothing(caplog: Any) -> None:
    engine = engine_on(hooks=EngineHooks(persist=hook(raising)))
    assert play(engine, greedy("question"))[0].said == plain(greedy("question"))
    assert caplog.text.count("was skipped") == 2
    check_empty(engine)


def test_every_plugin_is_asked_to_persist_and_the_first_answer_is_taken() -> None:
    calls: list[str] = []
    both = GuardedHook((("a", lambda *x: calls.append("a")), ("b", lambda *x: calls.append("b"))))
    both.all(1)
    assert calls == ["a", "b"]
    answering = GuardedHook((("a", lambda x: None), ("b", lambda x: x + 1), ("c", lambda x: 9)))
    assert answering.first(1) == ("b", 2)
    assert GuardedHook((("a", lambda: None),)).first() is None
    assert not GuardedHook()
