"""The plugin in an engine: what is restored, and that answers are those of the plain path."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.reame_diskkv.tests.driver import (
    BLOCK,
    NAMESPACE,
    block_files,
    branch,
    plain,
    request,
    server,
    words,
)
from reame_core.engine.request import SamplingParams
from reame_core.errors import EngineError
from reame_core.plugins.api import Draft
from reame_core.testing import FakeBackend

LONG = words(100)


def test_a_prompt_is_computed_once_whatever_is_restarted(tmp_path: Path) -> None:
    expected = plain(request(LONG))[0]
    with server(tmp_path) as first:
        answer = first.ask(LONG)
        assert answer.said == expected
        assert answer.usage.computed == 100
    with server(tmp_path) as second:
        answer = second.ask(LONG)
        assert answer.said == expected
        assert answer.usage.computed == 1
        assert answer.usage.reused == {"diskkv": 99}


@pytest.mark.parametrize("common", [BLOCK - 1, BLOCK, BLOCK + 1, 50, 96, 99])
def test_another_question_behind_the_same_text(tmp_path: Path, common: int) -> None:
    other = branch(LONG, common, 110)
    with server(tmp_path) as first:
        first.ask(LONG)
    with server(tmp_path) as second:
        answer = second.ask(other)
        assert answer.said == plain(request(other))[0]
        assert answer.restored == common
    with server(tmp_path) as third:
        for prompt in (other, LONG):
            answer = third.ask(prompt)
            assert answer.said == plain(request(prompt))[0]
            assert answer.usage.computed == 1


@pytest.mark.parametrize("length", [2, BLOCK, BLOCK + 1, 60, 99])
def test_a_strict_beginning_of_a_stored_prompt(tmp_path: Path, length: int) -> None:
    # case 7: the last token is computed again, for its logits
    with server(tmp_path) as first:
        first.ask(LONG)
    with server(tmp_path) as second:
        answer = second.ask(LONG[:length], 1)
        assert answer.said == plain(request(LONG[:length], 1))[0]
        assert answer.usage.computed == 1


def test_a_growing_chat_writes_little_more_than_it_is_long(tmp_path: Path) -> None:
    # case 38
    history = words(30)
    with server(tmp_path, backend=FakeBackend(cells=2048), context_length=1000) as each:
        for turn in range(40):
            answer = each.ask(history, 8)
            history = (*history, *answer.tokens, *words(13, salt=turn + 2)[1:])
        written = each.counts.written_bytes
    size = sum(path.stat().st_size for path in block_files(tmp_path))
    assert len(history) > 700
    # Whole blocks once; what is left of the last one again at each turn, with its header.
    assert written < 2.5 * size


def test_the_next_turn_of_a_conversation_recomputes_only_what_is_new(tmp_path: Path) -> None:
    # cases 15, 20: the answer is stored, too
    history = words(70)
    for turn in range(4):
        with server(tmp_path) as restarted:
            answer = restarted.ask(history, 20)
            assert answer.said == plain(request(history, 20))[0]
            if turn:
                # The last token of an answer is delivered before it is computed.
                assert answer.usage.computed == 13
        history = (*history, *answer.tokens, *words(13, salt=turn + 2)[1:])


def test_memory_first_then_the_disk(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        first.ask(LONG)
    with server(tmp_path) as second:
        second.ask(branch(LONG, 53, 80))
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        # Memory's 53 tokens end within a block, whose beginning is given up for the whole block.
        assert answer.usage.reused == {"ram": 53, "diskkv": 46}
        assert answer.usage.computed == 1


def test_memory_that_knows_more_is_left_alone(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        first.ask(LONG[:40], 1)
        first.ask(LONG, 1)
        first.forget()
        first.ask(LONG[:60], 1)
        answer = first.ask(LONG[:60])
        assert answer.usage.reused == {"ram": 59}
        assert answer.said == plain(request(LONG[:60]))[0]


def test_interleaved_users_who_share_and_branch(tmp_path: Path) -> None:
    prompts = [LONG, branch(LONG, 50, 90), branch(LONG, 50, 120, salt=2), LONG[:70]]
    asked = [request(prompt, 12) for prompt in prompts]
    expected = [plain(each)[0] for each in asked]
    for _ in range(2):
        with server(tmp_path, stall_ms=1.0) as shared:
            for _ in range(2):
                answers = shared.play(*asked)
                assert [answer.said for [answer] in answers] == expected
            shared.flush()
    assert sum(answer.restored for [answer] in answers) == 0, "memory had all of it"


def test_users_at_once_read_a_prefix_from_disk_once(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        first.ask(LONG)
    with server(tmp_path) as second:
        answers = second.play(*(request(branch(LONG, 96, 110, salt)) for salt in range(4)))
        assert [answer.restored for [answer] in answers] == [96, 0, 0, 0]
        assert [answer.usage.reused.get("ram", 0) for [answer] in answers] == [0, 96, 96, 96]


def test_choices_share_what_was_restored(tmp_path: Path) -> None:
    asked = request(LONG, 10, n=3, sampling=SamplingParams(temperature=0.9, seed=5))
    with server(tmp_path) as first:
        first.ask(LONG, 1)
    with server(tmp_path) as second:
        [answers] = second.play(asked)
        assert [answer.said for answer in answers] == plain(asked)
        assert sum(answer.restored for answer in answers) == 99


class OneSecondABlock:
    """A clock for the restorer: each look at it is a second later."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_a_long_prefix_is_restored_in_parts_between_which_others_go_on(tmp_path: Path) -> None:
    other = request(words(20, salt=8), 40)
    with server(tmp_path) as first:
        first.ask(LONG)
    with server(tmp_path) as second:
        second.service._restorer._clock = OneSecondABlock()
        [talking] = second.submit(other)
        for _ in range(3):
            second.engine.step()
        [answer] = second.submit(request(LONG))
        said, parts = len(talking.tokens), []
        while not answer.tokens:
            second.engine.step()
            parts.append(second.counts.restored_tokens)
            assert len(talking.tokens) == said + len(parts), "a token in each step"
        second.run()
        # One block is more than there is time for, and so one is restored in each step. (The other has its
        # first token, which is always the same, from disk, too.)
        assert parts == [16, 32, 48, 64, 80, 96, 99]
        assert answer.said == plain(request(LONG))[0]
        assert answer.usage.reused == {"ram": 1, "diskkv": 98}
        assert talking.said == plain(other)[0]
        assert (second.counts.lookups, second.counts.hits) == (2, 2)


def test_a_block_that_is_lost_between_two_parts_ends_the_chain_there(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        first.ask(LONG)
    with server(tmp_path) as second:
        second.service._restorer._clock = OneSecondABlock()
        [answer] = second.submit(request(LONG))
        second.engine.step()
        second.engine.step()
        for path in block_files(tmp_path):
            path.unlink()
        second.run()
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 32


def test_a_background_prompt_that_is_put_away_between_two_parts(tmp_path: Path) -> None:
    user = request(words(30, salt=8))
    with server(tmp_path) as first:
        first.ask(LONG)
    with server(tmp_path) as second:
        second.service._restorer._clock = OneSecondABlock()
        [answer] = second.submit(request(LONG, background=True))
        second.engine.step()
        [[users]] = second.play(user)
        assert users.said == plain(user)[0]
        assert answer.said == plain(request(LONG))[0]
        assert answer.usage.reused == {"ram": 16, "diskkv": 83}


def test_what_was_computed_of_a_cancelled_request_is_stored(tmp_path: Path) -> None:
    # case 25
    with server(tmp_path) as first:
        [answer] = first.submit(request(LONG, 50))
        while len(answer.tokens) < 20:
            first.engine.step()
        first.engine.cancel(first.group)
        first.flush()
        assert answer.finished.reason == "cancelled"
    following = (*LONG, *answer.tokens, *words(10, salt=3)[1:])
    with server(tmp_path) as second:
        again = second.ask(following)
        assert again.said == plain(request(following))[0]
        assert again.usage.computed <= 11


def test_cancelled_while_its_prompt_is_computed(tmp_path: Path) -> None:
    with server(tmp_path, max_rows=8) as first:
        [answer] = first.submit(request(LONG))
        for _ in range(7):
            first.engine.step()
        first.engine.cancel(first.group)
        first.flush()
    with server(tmp_path) as second:
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 56


def test_drafts_right_and_wrong(tmp_path: Path) -> None:
    expected = plain(request(LONG, 24))[0]
    truth = list(expected[1])

    def propose(sequence, limit):
        done = len(sequence.tokens) - sequence.prompt_length
        guess = truth[done : done + min(limit, 6)]
        if done % 3 == 1 and len(guess) > 2:
            guess[2] = 100
        return Draft(guess) if guess else None

    for _ in range(2):
        with server(tmp_path, other_hooks={"propose_draft": propose}) as each:
            answer = each.ask(LONG, 24)
            assert answer.said == expected
    assert answer.restored == 99
    longer = (*LONG, *truth, *words(5, salt=4)[1:])
    with server(tmp_path) as last:
        answer = last.ask(longer)
        assert answer.said == plain(request(longer))[0]
        assert answer.usage.computed <= 6, "accepted drafts are stored, rejected ones are not"


@pytest.mark.parametrize("cells", [120, 150, 200])
def test_memory_for_hardly_more_than_one(tmp_path: Path, cells: int) -> None:
    prompts = [LONG, branch(LONG, 50, 90), LONG[:70], branch(LONG, 33, 100, salt=2)]
    asked = [request(prompt, 12) for prompt in prompts]
    expected = [plain(each)[0] for each in asked]
    for _ in range(2):
        backend = FakeBackend(cells=cells)
        with server(tmp_path, backend=backend, context_length=115) as tiny:
            for _ in range(2):
                answers = tiny.play(*asked)
                assert [answer.said for [answer] in answers] == expected
            tiny.flush()
            tiny.forget()
            assert backend.used_cells() == 0


@pytest.mark.parametrize("window", [8, 40])
@pytest.mark.parametrize("length", [-10, 10, 80])
def test_sliding_windows(tmp_path: Path, window: int, length: int) -> None:
    # case 3
    prompt = words(window + length if window + length > 4 else 30)
    other = branch(prompt, len(prompt) * 2 // 3, len(prompt) + 10)
    for _ in range(2):
        with server(tmp_path, backend=FakeBackend(cells=512, window=window)) as each:
            for asked in (request(prompt, 20), request(other, 20)):
                assert each.ask(asked.prompt, 20).said == plain(asked, window=window)[0]
            hits = each.counts.hits
    assert hits == 2


def test_a_recurrent_model_has_no_disk_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    # cases 5, 6
    with server(tmp_path, backend=FakeBackend(recurrent=True)) as each:
        for _ in range(2):
            assert each.ask(LONG).said == plain(request(LONG), recurrent=True)[0]
    assert [record.message for record in caplog.records] == [
        "the disk cache is off: the state of fake cannot be divided into blocks "
        "(it is a recurrent or hybrid model)"
    ]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "changed", [{"model": "fake, quantised"}, {"kv_cache_type": "q8_0"}, {"adapter": "a"}, {"build": "2"}]
)
def test_other_cells_are_never_restored(tmp_path: Path, changed: dict[str, str]) -> None:
    # cases 9, 10, 24
    with server(tmp_path) as first:
        first.ask(LONG)
    with server(tmp_path, namespace={**NAMESPACE, **changed}) as second:
        assert second.ask(LONG).usage.computed == 100
    with server(tmp_path) as third:
        assert third.ask(LONG).usage.computed == 1, "both are kept"


def test_a_larger_context_reuses_the_blocks(tmp_path: Path) -> None:
    with server(tmp_path, backend=FakeBackend(cells=256)) as first:
        first.ask(LONG)
    with server(tmp_path, backend=FakeBackend(cells=2048), context_length=2000) as second:
        assert second.ask(LONG).usage.computed == 1


def test_tenants_do_not_see_each_other(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        first.ask(LONG, tenant="a")
    for tenant, computed in (("b", 100), ("", 100), ("a", 1), ("b", 1)):
        with server(tmp_path) as each:
            assert each.ask(LONG, tenant=tenant).usage.computed == computed


def test_a_request_without_reuse_computes_and_is_stored(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        assert first.ask(LONG, reuse=False).usage.computed == 100
        assert first.ask(LONG, reuse=False).usage.computed == 100
    with server(tmp_path) as second:
        assert second.ask(LONG).usage.computed == 1


def test_short_prompts_are_not_worth_a_file(tmp_path: Path) -> None:
    with server(tmp_path, options={"min_tokens": 32}) as first:
        first.ask(words(20), 8)
    assert block_files(tmp_path) == []


def test_a_failed_batch_is_not_stored(tmp_path: Path) -> None:
    with server(tmp_path, backend=FakeBackend(cells=512, fail_on=[1])) as first:
        [[answer]] = first.play(request(LONG))
        assert isinstance(answer.error, EngineError)
        answer = first.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 0
    with server(tmp_path) as second:
        assert second.ask(LONG).said == plain(request(LONG))[0]


def test_no_block_is_written_twice(tmp_path: Path) -> None:
    # case 26
    with server(tmp_path) as first:
        first.ask(LONG)
    before = {path.name: path.stat().st_mtime_ns for path in block_files(tmp_path)}
    for _ in range(2):
        with server(tmp_path) as again:
            again.ask(LONG)
            assert again.counts.written_blocks == 0
    assert {path.name: path.stat().st_mtime_ns for path in block_files(tmp_path)} == before
