"""Drafts are cut where texts part: chances by the tokens before, and what comes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reame_core.engine.bids import Proposal
from reame_core.engine.calibration import measure_batches
from reame_core.engine.forks import Forks
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.odds import Kind
from reame_core.engine.records import Records
from reame_core.plugins.api import Draft
from reame_core.testing import FakeBackend, FakeClock
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import engine_on, greedy, hook, play, thorough

SPACE = 1
TOKENS = st.lists(st.integers(0, 3), max_size=6)


def test_of_a_place_that_was_never_seen_the_usual_is_expected() -> None:
    assert Forks().chances(SPACE, [1, 2, 3], [4, 5], 0.7) == [0.7, 0.7]


def test_what_was_always_right_is_believed_and_what_was_always_wrong_is_not() -> None:
    forks = Forks()
    for _ in range(10):
        forks.observe(SPACE, [1, 2, 3], [4, 5], rejected=True)
    first, second, third, fourth = forks.chances(SPACE, [1, 2, 3], [4, 5, 6, 7], 0.6)
    assert first > 0.9
    assert second > 0.9
    assert third < 0.2, "behind 4, 5 it was something else each time"
    assert fourth == 0.6


def test_more_tokens_tell_better_than_one() -> None:
    forks = Forks()
    for _ in range(10):
        forks.observe(SPACE, [1, 2, 9], [], rejected=True)
        forks.observe(SPACE, [3, 4, 9], [5], rejected=False)
    [wrong] = forks.chances(SPACE, [1, 2, 9], [5], 0.6)
    [right] = forks.chances(SPACE, [3, 4, 9], [5], 0.6)
    [unknown] = forks.chances(SPACE, [7, 7, 9], [5], 0.6)
    assert wrong < 0.3 < unknown < 0.7 < right


def test_the_beginning_of_a_text_has_a_short_past() -> None:
    forks = Forks()
    forks.observe(SPACE, [], [1, 2], rejected=True)
    assert len(forks.chances(SPACE, [], [1, 2, 3], 0.5)) == 3


def test_spaces_know_nothing_of_each_other() -> None:
    forks = Forks()
    for _ in range(10):
        forks.observe(SPACE, [1, 2, 3], [], rejected=True)
    assert forks.chances(SPACE + 1, [1, 2, 3], [4], 0.9) == [0.9]


@thorough(200)
@given(
    st.lists(st.tuples(st.integers(0, 2), TOKENS, TOKENS, st.booleans()), max_size=40),
    TOKENS,
    TOKENS,
    st.floats(0, 1),
)
def test_chances_are_chances_and_memory_is_bounded(
    seen: list[tuple[int, list[int], list[int], bool]], before: list[int], drafted: list[int], usual: float
) -> None:
    forks = Forks(most=5)
    for space, past, kept, rejected in seen:
        forks.observe(space, past, kept, rejected)
        assert len(forks) <= 2 * 5
    chances = forks.chances(SPACE, before, drafted, usual)
    assert len(chances) == len(drafted)
    assert all(0 <= chance <= 1 for chance in chances)


def test_the_places_that_came_up_last_are_remembered() -> None:
    forks = Forks(most=4)
    for token in (1, 2, 3, 4, 1, 5):
        forks.observe(SPACE, [token], [], rejected=True)
    known = [token for token in range(1, 6) if forks.chances(SPACE, [token], [0], 0.5) != [0.5]]
    assert known == [1, 3, 4, 5]


# In records.


class Talker:
    """As much of a sequence as records look at."""

    def __init__(self, *tokens: int, tenant: str = "") -> None:
        self.id = 1
        self.tokens = np.array(tokens)
        self.known = len(tokens)
        self.computed = 0
        self.request = greedy((1,), tenant=tenant)


def test_the_token_behind_a_cut_draft_is_judged_by_what_the_target_says() -> None:
    records = Records()
    whole = Proposal("s", Draft([4, 5, 6]), Kind(), SPACE)
    for _ in range(10):
        records.observe(Talker(1, 2, 3, 4, 5, 9), whole.cut(2), 3, 2)  # type: ignore[arg-type]
    chances = records.forks.chances(SPACE, [1, 2, 3], [4, 5, 6], 0.5)
    assert chances[1] > 0.8
    assert chances[2] < 0.2, "it was not given a row, but 9 came in its place"
    for _ in range(30):
        records.observe(Talker(1, 2, 3, 4, 5, 6), whole.cut(2), 3, 2)  # type: ignore[arg-type]
    assert records.forks.chances(SPACE, [1, 2, 3], [4, 5, 6], 0.5)[2] > 0.7
    assert records.totals["s"].tested == 40 * 2, "only tokens with rows are counted as tested"


def test_an_answer_that_ended_within_a_draft_tells_nothing_of_what_was_drafted_behind_it() -> None:
    records = Records()
    whole = Proposal("s", Draft([4, 5, 6]), Kind(), SPACE)
    records.observe(Talker(1, 2, 3, 4), whole, 3, 1)  # type: ignore[arg-type]
    assert records.forks.chances(SPACE, [2, 3, 4], [5], 0.5) == [0.5]
    assert (records.totals["s"].accepted, records.totals["s"].tested) == (1, 1)


def test_an_answer_that_ends_where_a_draft_goes_on_tells_that_it_was_wrong() -> None:
    records = Records()
    for _ in range(10):
        records.observe(Talker(1, 2, 3, 0), Proposal("s", Draft([4, 5, 6]), Kind(), SPACE), 3, 0)  # type: ignore[arg-type]
    assert records.forks.chances(SPACE, [1, 2, 3], [4], 0.5)[0] < 0.2


def test_what_a_verifier_did_not_keep_is_not_right_though_it_says_the_same_itself() -> None:
    records = Records()
    for _ in range(10):
        records.observe(Talker(1, 2, 3, 4), Proposal("s", Draft([4]), Kind(), SPACE), 3, 0)  # type: ignore[arg-type]
    assert (records.totals["s"].accepted, records.totals["s"].tested) == (0, 10)
    assert records.forks.chances(SPACE, [1, 2, 3], [4], 0.5)[0] < 0.2


def test_a_drawn_draft_is_not_judged_by_what_the_target_draws_behind_it() -> None:
    line = np.full((2, 9), 1 / 9, np.float32)
    drawn = Proposal("s", Draft([4, 5], [1 / 9] * 2, line), Kind(), None)
    assert drawn.cut(1).behind is None
    assert Proposal("s", Draft([4, 5])).cut(1).behind == 5


def test_what_a_short_answer_tells_of_a_draft_without_rows_is_not_lost() -> None:
    records, before = Records(), Talker(1, 2, 3)
    records.track("s", before)  # type: ignore[arg-type]
    records.keep_unpaid(before, Proposal("s", Draft([4, 5, 6, 7]), Kind(), SPACE))  # type: ignore[arg-type]
    records.forget(Talker(1, 2, 3, 4, 0))  # type: ignore[arg-type]
    right, wrong = records.forks.chances(SPACE, [1, 2, 3], [4, 5], 0.5)
    assert right > 0.5 > wrong


def test_tenants_and_kinds_of_drafts_are_kept_apart() -> None:
    kinds = [Kind(), Kind("lists"), Kind(sampled=True), Kind(match=6, belief=4)]
    spaces = {
        Records.space(source, Talker(1, tenant=tenant), kind)  # type: ignore[arg-type]
        for source in ("a", "b")
        for tenant in ("x", "y")
        for kind in kinds
    }
    assert len(spaces) == 16
    alike = [Kind(match=2), Kind(match=5, belief=4), Kind(match=6, belief=3)]
    assert {Records.space("a", Talker(1), kind) for kind in alike} == {  # type: ignore[arg-type]
        Records.space("a", Talker(1), Kind())  # type: ignore[arg-type]
    }


# In an engine.


FORM = "name: {}; city: {}; paid: {}; sent: {}. "
WORDS = ("ab", "cd", "ef", "gh", "ij", "kl", "mn", "op")


def forms(count: int) -> list[str]:
    return [FORM.format(*(WORDS[(7 * i * i + 3 * j + i * j) % 8] for j in range(4))) for i in range(count)]


def test_a_form_is_drafted_up_to_what_is_filled_in() -> None:
    """What was said last is proposed each time: the fixed parts are right, the four words mostly not."""
    answers = forms(24)
    prompts = [f"form {i:02d}>" for i in range(len(answers))]
    clock = FakeClock(lambda rows: 10.0 + 20.0 * rows)
    backend = FakeBackend(
        cells=2048, max_rows=256, clock=clock, replies=dict(zip(prompts, answers, strict=True))
    )
    said: list[int] = []

    def last_time(sequence: Any, limit: int) -> Draft | None:
        done = len(sequence.tokens) - sequence.prompt_length
        ahead = said[done : done + limit]
        return Draft(ahead, match_length=8, confidence=0.6) if ahead else None

    engine = engine_on(
        backend,
        EngineHooks(propose_draft=hook(last_time)),
        clock,
        context_length=512,
        price_drafts=True,
        max_draft=63,
    )
    measure_batches(backend, engine.cost, clock)
    kept = []
    for prompt, answer in zip(prompts, answers, strict=True):
        before = engine.records.total("plugin").drafted, engine.records.total("plugin").accepted
        tokens = play(engine, greedy(prompt, 200))[0][0].tokens
        assert b"".join(map(vocabulary.piece, tokens)).decode() == answer
        said[:] = tokens
        totals = engine.records.total("plugin")
        kept.append((totals.drafted - before[0], totals.accepted - before[1]))
    early, late = kept[1:4], kept[-8:]
    share = [sum(a for _, a in part) / max(1, sum(d for d, _ in part)) for part in (early, late)]
    assert all(drafted for drafted, _ in early)
    assert share[1] > 0.9 > share[0]
    assert sum(a for _, a in late) / len(late) > 5, "the fixed parts are drafted"
