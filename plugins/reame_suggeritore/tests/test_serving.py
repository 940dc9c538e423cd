"""The plugin in an engine: faster or not, the same answers as without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_suggeritore import Suggeritore

from plugins.reame_palimpsest.tests.support import Plugins
from plugins.reame_suggeritore.tests.corpus import ANSWERS, FORMLESS, SHOWN
from plugins.reame_suggeritore.tests.texts import chat
from reame_core.engine.calibration import measure_batches
from reame_core.engine.engine import Engine
from reame_core.engine.exactness import ExactShapes
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import Request, SamplingParams
from reame_core.plugins.api import PluginContext
from reame_core.testing import FakeBackend, FakeClock
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import (
    Answer,
    MemoryStore,
    check_empty,
    engine_on,
    hook,
    plain,
    play,
    run,
    step,
    submit,
    thorough,
)

NAME = "suggeritore"
CELLS, LENGTH = 1200, 400


def started(backend: FakeBackend) -> Suggeritore:
    plugin = Suggeritore()
    plugin.startup(PluginContext(backend.info, {}, piece=backend.piece, tokenize=backend.tokenize))
    return plugin


def hooks_of(plugin: Suggeritore) -> EngineHooks:
    return EngineHooks(
        propose_draft=hook(plugin.propose_draft, name=NAME), persist=hook(plugin.persist, name=NAME)
    )


def serving(replies: Mapping[str, str], hooks: EngineHooks | None = None, **options: Any) -> Engine:
    options.setdefault("context_length", LENGTH)
    backend = FakeBackend(cells=CELLS, replies=replies)
    return engine_on(backend, hooks or hooks_of(started(backend)), **options)


def asking(question: str, most: int = 220, **fields: Any) -> Request:
    return Request(prompt=tuple(chat(question)), max_tokens=most, **fields)


def alone(request: Request, replies: Mapping[str, str]) -> list[tuple[object, ...]]:
    return plain(request, cells=CELLS, replies=dict(replies), context_length=LENGTH)


def accepted(answer: Answer) -> int:
    return answer.usage.drafts.get(NAME, (0, 0))[1]


def question_of(form: str) -> str:
    return f"Please write {form}."


class TestCorpus:
    def test_there_are_enough_of_them(self) -> None:
        assert len(ANSWERS) + len(SHOWN) >= 60

    @pytest.mark.parametrize("form", ANSWERS)
    def test_greedy_answers_are_the_same(self, form: str) -> None:
        question = question_of(form)
        replies = {question: ANSWERS[form]}
        engine = serving(replies)
        [answer] = play(engine, asking(question))
        assert answer.said == alone(asking(question), replies)
        assert answer[0].text == ANSWERS[form]
        assert form in FORMLESS or accepted(answer[0]) >= 2
        check_empty(engine)

    @pytest.mark.parametrize("question", SHOWN)
    def test_forms_that_are_shown(self, question: str) -> None:
        replies = {question: SHOWN[question]}
        [answer] = play(serving(replies), asking(question))
        assert answer.said == alone(asking(question), replies)
        assert answer[0].text == SHOWN[question]
        assert accepted(answer[0]) >= 6


FORMS = ("numbers and dots", "a padded table", "json, pretty", "xml", "records", "prose")
REPLIES = {question_of(form): ANSWERS[form] for form in FORMS}
SAMPLING = {
    "sampled": SamplingParams(temperature=0.9, top_p=0.95, seed=7),
    "hot": SamplingParams(temperature=12.0, seed=3),
    "penalties": SamplingParams(presence_penalty=1.5, frequency_penalty=0.5, repeat_penalty=1.3),
    "bias": SamplingParams(logit_bias={ord("2"): -100.0}),
}


class TestTogetherWith:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("sampling", SAMPLING)
    def test_sampling_and_penalties(self, form: str, sampling: str) -> None:
        request = asking(question_of(form), 90, sampling=SAMPLING[sampling])
        [answer] = play(serving(REPLIES), request)
        assert answer.said == alone(request, REPLIES)

    @pytest.mark.parametrize("form", FORMS)
    def test_logprobs(self, form: str) -> None:
        request = asking(question_of(form), logprobs=3)
        [answer] = play(serving(REPLIES), request)
        [expected] = play(serving(REPLIES), replace(request, speculate=False))
        assert answer.said == expected.said
        assert answer[0].logprobs == expected[0].logprobs

    @pytest.mark.parametrize("form", FORMS)
    def test_several_choices(self, form: str) -> None:
        request = asking(question_of(form), 90, n=3, sampling=SAMPLING["sampled"])
        [answer] = play(serving(REPLIES), request)
        assert answer.said == alone(request, REPLIES)

    @pytest.mark.parametrize("price", [False, True])
    def test_interleaved_users(self, price: bool) -> None:
        requests = [asking(question_of(form)) for form in FORMS]
        engine = serving(REPLIES, parallel=4, price_drafts=price)
        answers = play(engine, *requests)
        assert [answer.said for answer in answers] == [alone(request, REPLIES) for request in requests]
        check_empty(engine)

    def test_a_cache_of_prefixes_and_cancelled_neighbours(self) -> None:
        store = MemoryStore()
        for _ in range(2):
            backend = FakeBackend(cells=CELLS, replies=REPLIES)
            plugin = started(backend)
            both = replace(
                store.hooks,
                propose_draft=hook(plugin.propose_draft, name=NAME),
                persist=hook(store.persist, plugin.persist),
            )
            engine = engine_on(backend, both, context_length=LENGTH, price_drafts=False)
            leaving = submit(engine, asking(question_of("records")))
            staying = [submit(engine, asking(question_of(form))) for form in FORMS]
            for _ in range(6):
                step(engine)
            assert leaving.group is not None
            engine.cancel(leaving.group)
            run(engine)
            assert [a.said for a in staying] == [alone(asking(question_of(f)), REPLIES) for f in FORMS]
            assert plugin.prompter is not None
            assert not plugin.prompter._readers, "what has ended is forgotten"
        assert store.restored > 0

    def test_other_drafters(self, tmp_path: Any) -> None:
        backend = FakeBackend(cells=CELLS, replies=REPLIES)
        plugin, others = started(backend), Plugins(tmp_path, backend)
        calls = (*others.hooks.propose_draft.calls, *hook(plugin.propose_draft, name=NAME).calls)
        both = replace(others.hooks, propose_draft=GuardedHook(calls))
        try:
            for _ in range(2):
                backend.clear()
                engine = engine_on(backend, both, context_length=LENGTH, parallel=3, price_drafts=False)
                requests = [asking(question_of(form)) for form in FORMS]
                assert [a.said for a in play(engine, *requests)] == [alone(r, REPLIES) for r in requests]
                others.flush()
        finally:
            others.close()

    def test_exact_shapes(self) -> None:
        for form in FORMS:
            engine = serving(REPLIES, exact=ExactShapes(2, 7))
            [answer] = play(engine, asking(question_of(form)))
            assert answer.said == alone(asking(question_of(form)), REPLIES)

    @given(
        st.lists(st.tuples(st.sampled_from(FORMS), st.integers(1, 90), st.booleans()), min_size=1, max_size=4)
    )
    @thorough(12)
    def test_any_requests_at_once(self, asked: list[tuple[str, int, bool]]) -> None:
        requests = [
            asking(question_of(form), most, sampling=SAMPLING["hot"] if hot else SamplingParams())
            for form, most, hot in asked
        ]
        answers = play(serving(REPLIES, parallel=3), *requests)
        assert [answer.said for answer in answers] == [alone(request, REPLIES) for request in requests]


class TestReportedFaults:
    """What users of other servers met (K3)."""

    def test_case_43_a_repetitive_answer(self) -> None:
        for word in ("ha ", "1. x\n", "- \n", '{"a": 1}\n'):
            replies = {"repeat": word * 20}
            [answer] = play(serving(replies), asking("repeat"))
            assert answer.said == alone(asking("repeat"), replies)

    @pytest.mark.parametrize("window", range(1, 8))
    def test_case_44_an_end_token_inside_a_draft(self, window: int) -> None:
        """Structure goes on where the answer ends, at every length of a draft."""
        replies = {"Name two trees, or four": "1. Ash\n2. Oak"}
        request = asking("Name two trees, or four")
        engine = serving(replies, max_draft=window)
        [answer] = play(engine, request)
        assert answer.said == alone(request, replies)
        assert answer[0].reason == "stop"
        check_empty(engine)

    @pytest.mark.parametrize("stop", ["\n2", "3. ", "Oak\n", ". E", "\n"])
    def test_case_46_a_stop_text_inside_a_draft(self, stop: str) -> None:
        request = asking(question_of("numbers and dots"), stop=(stop,), logprobs=1)
        [answer] = play(serving(REPLIES), request)
        assert answer.said == alone(request, REPLIES)
        assert len(answer[0].logprobs) == len(answer[0].tokens)

    def test_case_47_logprobs_of_drafted_tokens(self) -> None:
        request = asking(question_of("json, pretty"), logprobs=2)
        [answer] = play(serving(REPLIES), request)
        [expected] = play(serving(REPLIES), replace(request, speculate=False))
        assert accepted(answer[0]) > 20
        assert answer[0].logprobs == expected[0].logprobs
        assert all(each.top[1][1] < 0 for each in answer[0].logprobs)

    @pytest.mark.parametrize("left", [1, 2, 3, 5, 8])
    def test_case_52_the_end_of_the_context(self, left: int) -> None:
        request = asking(question_of("numbers and dots"), None)
        length = len(request.prompt) + 9 + left
        [answer] = play(serving(REPLIES, context_length=length), request)
        assert answer[0].reason == "length"
        assert answer[0].usage.completion == 9 + left

    def test_case_56_a_tokenizer_that_fails(self, caplog: pytest.LogCaptureFixture) -> None:
        backend = FakeBackend(cells=CELLS, replies=REPLIES)

        def broken(text: str) -> list[int]:
            raise RuntimeError("no tokens today")

        plugin = Suggeritore()
        plugin.startup(PluginContext(backend.info, {}, piece=backend.piece, tokenize=broken))
        request = asking(question_of("numbers and dots"))
        [answer] = play(engine_on(backend, hooks_of(plugin), context_length=LENGTH), request)
        assert answer.said == alone(request, REPLIES)
        assert "no tokens today" in caplog.text


class TestWorth:
    """On simulated machines."""

    NAMES = ("He", "Li", "Be", "Ne", "Na", "Mg", "Al", "Si", "Ar", "Ca", "Fe", "Cu")
    """As short in the fake vocabulary as words are in a model's."""
    LIST = "\n".join(f"{number}. {name}" for number, name in enumerate(NAMES, 1))

    def _gain(self, answer: str, cost: Callable[[int], float]) -> float:
        """How many times faster with the plugin than without, where a batch of k rows takes ``cost`` (k)."""
        seconds = {}
        for drafts in (False, True):
            clock = FakeClock(cost)
            backend = FakeBackend(cells=CELLS, replies={"go": answer}, clock=clock)
            hooks = hooks_of(started(backend)) if drafts else EngineHooks()
            engine = engine_on(backend, hooks, clock, context_length=LENGTH, price_drafts=True)
            measure_batches(backend, engine.cost, clock)
            began = clock.now
            play(engine, asking("go"))
            seconds[drafts] = clock.now - began
        return seconds[False] / seconds[True]

    def test_a_list_where_rows_cost_nothing(self) -> None:
        assert self._gain(self.LIST, lambda rows: 50.0) > 2.1

    def test_prose_costs_nothing(self) -> None:
        assert self._gain(ANSWERS["prose"], lambda rows: 50.0 * rows) > 0.99

    def test_where_rows_cost_as_much_as_batches(self) -> None:
        assert self._gain(self.LIST, lambda rows: 50.0 * rows) > 0.97


def test_a_request_may_do_without_drafts() -> None:
    request = asking(question_of("numbers and dots"), speculate=False)
    [answer] = play(serving(REPLIES), request)
    assert accepted(answer[0]) == 0


def test_vocabularies_of_bytes_alone() -> None:
    """Characters over several tokens are never cut."""
    replies = {"Bäume": "1. Ähre\n2. Öl\n3. Übel\n4. ß"}
    [answer] = play(serving(replies), asking("Bäume"))
    assert answer.said == alone(asking("Bäume"), replies)
    assert accepted(answer[0]) >= 4
    assert vocabulary.tokenize("Ä") == list("Ä".encode())
