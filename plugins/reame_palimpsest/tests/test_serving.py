"""The plugins in an engine: faster or not, the same answers as without them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_palimpsest.folders import TokenizerFolder, tokenizer_folders
from reame_palimpsest.generations import generation, prompt_key

from plugins.reame_palimpsest.tests.support import Plugins, accepted, drafted, plugins
from reame_core.engine.engine import Engine
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import Request
from reame_core.testing import FakeBackend
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import (
    MemoryStore,
    check_empty,
    engine_on,
    greedy,
    plain,
    play,
    prompt,
    run,
    sampled,
    step,
    submit,
    thorough,
)

TEXTS = ("the sea and the shore", "the sea and the hills", "one two three one two three one", "zz")


def serving(started: Plugins, *, price: bool = False, **options: Any) -> Engine:
    options.setdefault("context_length", 400)
    return engine_on(FakeBackend(cells=1600), started.hooks, price_drafts=price, **options)


def test_an_archived_generation_asked_again_is_proposed_in_full(tmp_path: Path) -> None:
    request = greedy(TEXTS[0], 90, ignore_end=True)
    expected = plain(request, cells=1600)
    for restart in range(3):
        with plugins(tmp_path) as started:
            for again in range(2):
                engine = serving(started)
                [answer] = play(engine, request)
                assert answer.said == expected
                known = restart + again > 0
                assert (drafted(answer[0]), accepted(answer[0])) == ((88, 88) if known else (0, 0))
                assert engine.steps == 2 if known else engine.steps > 80
                started.flush()


def test_another_question_with_the_same_answer_is_followed(tmp_path: Path) -> None:
    """The end of the prompt and the first tokens of the answer are enough to find it."""
    replies = {"name the capital": "The capital of that country is the city of Examplopolis, on the river."}
    asked = [greedy(f"{start}: name the capital", 90) for start in ("first", "and now again")]
    with plugins(tmp_path) as started:
        steps = []
        for request in asked:
            engine = engine_on(FakeBackend(cells=800, replies=replies), started.hooks, price_drafts=False)
            [answer] = play(engine, request)
            assert answer.said == plain(request, cells=800, replies=replies)
            steps.append(engine.steps)
            started.flush()
    assert steps[1] < steps[0] / 4


def test_a_prompt_that_is_repeated_is_looked_up(tmp_path: Path) -> None:
    text = "Grey geese graze in the green grass near the old grain mill."
    replies = {"Repeat: " + text: text}
    request = greedy("Repeat: " + text, 80)
    with plugins(tmp_path) as started:
        engine = engine_on(FakeBackend(cells=800, replies=replies), started.hooks, price_drafts=False)
        [answer] = play(engine, request)
        assert answer.said == plain(request, cells=800, replies=replies)
        assert accepted(answer[0], "prompt-lookup") > 40
        assert started.lookup._lookup is not None
        assert started.lookup._lookup.sequences == 0, "what has ended is forgotten"


@pytest.mark.parametrize("users", [1, 4])
@pytest.mark.parametrize("price", [False, True])
def test_answers_do_not_depend_on_what_is_archived(tmp_path: Path, users: int, price: bool) -> None:
    requests = [greedy(text, 60) for text in TEXTS]
    requests += [sampled(text, 50, seed=seed) for seed, text in enumerate(TEXTS)]
    requests += [sampled(TEXTS[0], 40, n=3), greedy(TEXTS[1], 70, stop=("e", "sea")), greedy(TEXTS[2], 1)]
    expected = [plain(request, cells=1600) for request in requests]
    with plugins(tmp_path) as started:
        for _ in range(3):
            engine = serving(started, parallel=users, price=price)
            if users == 1:
                said = [play(engine, request)[0].said for request in requests]
            else:
                said = [answer.said for answer in play(engine, *requests)]
            assert said == expected
            check_empty(engine)
            started.flush()
    assert engine.records.totals["palimpsest"].accepted > 100


def test_together_with_a_cache_of_prefixes_and_cancelled_neighbours(tmp_path: Path) -> None:
    requests = [greedy(text, 50) for text in TEXTS] + [sampled(TEXTS[0], 40, seed=3, n=2)]
    expected = [plain(request, cells=1600) for request in requests]
    store = MemoryStore()
    with plugins(tmp_path) as started:
        hooks = EngineHooks(
            on_prefill=GuardedHook((*started.hooks.on_prefill.calls, *store.hooks.on_prefill.calls)),
            propose_draft=started.hooks.propose_draft,
            persist=GuardedHook((*started.hooks.persist.calls, *store.hooks.persist.calls)),
        )
        for _ in range(3):
            engine = engine_on(FakeBackend(cells=1600), hooks, price_drafts=False, context_length=400)
            leaving = submit(engine, greedy(TEXTS[1], 80, ignore_end=True))
            staying = [submit(engine, request) for request in requests]
            for _ in range(6):
                step(engine)
            assert leaving.group is not None
            engine.cancel(leaving.group)
            run(engine)
            assert [answer.said for answer in staying] == expected
            started.flush()
    assert store.restored > 0
    assert engine.records.totals["palimpsest"].accepted > 100


@given(
    st.lists(
        st.tuples(st.sampled_from(TEXTS), st.integers(1, 50), st.booleans(), st.integers(1, 3)),
        min_size=1,
        max_size=5,
    ),
    st.booleans(),
)
@thorough(15)
def test_any_requests_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[str, int, bool, int]], restart: bool
) -> None:
    folder = tmp_path_factory.mktemp("archive")
    requests = [
        sampled(text, most, seed=most, n=n) if random else greedy(text, most, n=n)
        for text, most, random, n in asked
    ]
    started = Plugins(folder)
    try:
        for request in [*requests, *requests[::-1]]:
            assert play(serving(started), request)[0].said == plain(request, cells=1600)
            started.flush()
            if restart:
                started.close()
                started = Plugins(folder)
    finally:
        started.close()


def test_a_cancelled_answer_is_archived_as_far_as_it_came(tmp_path: Path) -> None:
    request = greedy(TEXTS[0], 60, ignore_end=True)
    with plugins(tmp_path) as started:
        engine = serving(started)
        answers = submit(engine, request)
        for _ in range(20):
            step(engine)
        assert answers.group is not None
        engine.cancel(answers.group)
        run(engine)
        started.flush()
        [again] = play(serving(started), request)
        assert again.said == plain(request, cells=1600)
        assert accepted(again[0]) >= 15
        started.flush()
        engine = serving(started)
        play(engine, request)
        assert engine.steps <= 3, "the whole answer is preferred to its beginning"


class TestWhoSeesWhat:
    def test_one_tenants_text_never_drafts_for_another(self, tmp_path: Path) -> None:
        with plugins(tmp_path) as started:
            for tenant in ("a", "b", "a/../b", ""):
                for first in (True, False):
                    [answer] = play(serving(started), greedy(TEXTS[0], 60, tenant=tenant, ignore_end=True))
                    assert (accepted(answer[0]) == 0) is first, tenant
                    started.flush()
        assert len(tokenizer_folders(tmp_path)[0].tenants()) == 4
        names = {path.name for path in tmp_path.rglob("*")}
        assert all(
            re.fullmatch(r"[0-9a-f]{32}|[0-9]{20}-[0-9a-f]{12}\.(seg|log)|lock|about\.json", n) for n in names
        )

    def test_case_42_another_tokenizers_archive_is_never_read(self, tmp_path: Path) -> None:
        request = greedy(TEXTS[0], 60, ignore_end=True)
        for tokenizer, expected in (("x", 0), ("y", 0), ("x", 58)):
            with plugins(tmp_path, tokenizer=tokenizer) as started:
                [answer] = play(serving(started), request)
                assert accepted(answer[0]) == expected
                started.flush()

    def test_a_request_may_stay_out_of_the_archive(self, tmp_path: Path) -> None:
        private = greedy(TEXTS[0], 60, ignore_end=True, extra={"palimpsest": {"archive": False}})
        with plugins(tmp_path) as started:
            for _ in range(2):
                [answer] = play(serving(started), private)
                assert accepted(answer[0]) == 0
                started.flush()
        assert tokenizer_folders(tmp_path) == []

    def test_a_request_may_do_without_the_archive(self, tmp_path: Path) -> None:
        asked = [{}, {"palimpsest": {"draft": False}}, {"palimpsest": "nonsense"}, {}]
        right = []
        with plugins(tmp_path) as started:
            for extra in asked:
                [answer] = play(serving(started), greedy(TEXTS[0], 60, ignore_end=True, extra=extra))
                right.append(accepted(answer[0]))
                started.flush()
        assert right == [0, 0, 58, 58]

    @pytest.mark.parametrize("options", [{"archive": False}, {"max_size_mb": 0}])
    def test_a_server_may_archive_nothing(self, tmp_path: Path, options: dict[str, object]) -> None:
        with plugins(tmp_path, **options) as started:
            play(serving(started), greedy(TEXTS[0], 60))
            started.flush()
        assert tokenizer_folders(tmp_path) == []


class TestReportedFaults:
    """What users of other servers met (K3)."""

    @pytest.mark.parametrize("text", [" ha", "the ", "ab", "1"])
    def test_case_43_a_repetitive_prompt(self, tmp_path: Path, text: str) -> None:
        request = greedy(text * 48, 32)
        with plugins(tmp_path) as started:
            for _ in range(2):
                assert play(serving(started), request)[0].said == plain(request, cells=1600)
                started.flush()

    @pytest.mark.parametrize("beyond", [1, 5, 20])
    def test_case_44_an_end_token_inside_a_draft(self, tmp_path: Path, beyond: int) -> None:
        """The archive goes on where the answer ends, at every offset of a draft."""
        replies = {"a fish": "A trout."}
        for window in range(1, 11):
            request = greedy("name a fish", 40)
            with plugins(tmp_path / str(window)) as started:
                archived = [*request.prompt, *vocabulary.tokenize("A trout."), vocabulary.EOS, *b"x" * beyond]
                _archive(started, request, archived)
                engine = engine_on(
                    FakeBackend(cells=800, replies=replies), started.hooks, price_drafts=False, max_draft=window
                )
                [answer] = play(engine, request)
                assert answer.said == plain(request, cells=800, replies=replies)
                assert answer[0].reason == "stop"
                assert accepted(answer[0]) > 0
                check_empty(engine)

    def test_case_46_a_stop_text_inside_a_draft(self, tmp_path: Path) -> None:
        asked = greedy(TEXTS[0], 80, ignore_end=True)
        [whole] = plain(asked, cells=1600)
        text = str(whole[0])
        stops = [
            greedy(TEXTS[0], 80, ignore_end=True, stop=(text[at : at + 3],), logprobs=2)
            for at in range(5, 40, 7)
        ]
        with plugins(tmp_path) as started:
            play(serving(started), asked)
            started.flush()
            for request in stops:
                [answer] = play(serving(started), request)
                assert answer.said == plain(request, cells=1600)
                assert len(answer[0].logprobs) == len(answer[0].tokens)
                assert accepted(answer[0]) > 0

    @pytest.mark.parametrize("left", [1, 2, 3, 5])
    def test_case_52_the_end_of_the_context(self, tmp_path: Path, left: int) -> None:
        text = "x" * (99 - left)
        with plugins(tmp_path) as started:
            _archive(started, greedy(text), [*prompt(text), *prompt("y" * 30)])
            for _ in range(2):
                engine = serving(started, context_length=100)
                [answer] = play(engine, greedy(text, None, ignore_end=True))
                assert answer[0].reason == "length"
                assert answer[0].usage.completion == left
                started.flush()

    def test_case_54_an_unrelated_request_in_between(self, tmp_path: Path) -> None:
        with plugins(tmp_path) as started:
            right = []
            for text in (TEXTS[0], TEXTS[3], TEXTS[0]):
                [answer] = play(serving(started), greedy(text, 60, ignore_end=True))
                right.append(accepted(answer[0]))
                started.flush()
        assert right[2] == 58

    def test_case_56_ids_above_the_vocabulary(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        request = greedy(TEXTS[0], 40)
        with plugins(tmp_path) as started:
            _archive(started, request, [*request.prompt, *range(1000, 1040)])
            [answer] = play(serving(started), request)
            assert answer.said == plain(request, cells=1600)
            assert drafted(answer[0]) == 0
        assert not caplog.records

    def test_case_56_an_archive_that_was_cut_and_scribbled_over(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        request = greedy(TEXTS[0], 40)
        for _ in range(3):
            with plugins(tmp_path) as started:
                [answer] = play(serving(started), request)
                assert answer.said == plain(request, cells=1600)
                started.flush()
            for path in tmp_path.rglob("*.seg"):
                path.write_bytes(path.read_bytes()[:-7])
        assert all("damaged" in each.getMessage() or "size" in each.getMessage() for each in caplog.records)
        assert len(caplog.records) == 2


def _archive(started: Plugins, request: Request, said: list[int]) -> None:
    """As if ``request`` had been answered so that prompt and answer are ``said``."""
    text = np.array(said, np.int32)
    length = len(request.prompt)
    made = generation(text, length, prompt_key("fake model", text[:length]), 1)
    service = started.archive._service
    assert service is not None
    service.archive.store(request.tenant, made)
    started.flush()


def test_the_folder_tells_people_which_models_it_is_for(tmp_path: Path) -> None:
    with plugins(tmp_path) as started:
        play(serving(started), greedy(TEXTS[0], 5))
    [folder] = tokenizer_folders(tmp_path)
    assert isinstance(folder, TokenizerFolder)
    assert folder.models == ["fake"]
