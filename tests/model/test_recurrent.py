"""A recurrent model keeps one state for each sequence: it can be kept, copied or lost, never cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, Finished, TextDelta
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import Request
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.plugins.api import Draft

from .tiny_models import write_mamba

pytestmark = pytest.mark.model
LONG = "a prompt that is long enough to be worth waiting for"


@pytest.fixture(scope="module")
def mamba(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaBackend]:
    path = write_mamba(Path(tmp_path_factory.mktemp("models"), "mamba.gguf"))
    backend = LlamaBackend(path, LlamaOptions(kv_cells=512, threads=1, max_sequences=12, max_rows=64))
    yield backend
    backend.close()


class Conversation:
    def __init__(self, backend: LlamaBackend, hooks: EngineHooks | None = None, **options: int) -> None:
        backend.clear()
        self.engine = Engine(
            backend, EngineOptions(**({"context_length": 256, "parallel": 4} | options)), hooks
        )

    def ask(self, *prompts: str | list[int], tokens: int = 12) -> list[tuple[list[int], Finished]]:
        """(answer, last event) of prompts submitted at once."""
        logs: list[list[Event]] = []
        for prompt in prompts:
            if isinstance(prompt, str):
                prompt = [1, *self.engine.backend.tokenize(prompt)]
            logs.append([])
            self.engine.submit(
                Request(prompt=tuple(prompt), max_tokens=tokens, ignore_end=True), logs[-1].extend
            )
        while self.engine.step():
            pass
        answers = []
        for log in logs:
            assert isinstance(log[-1], Finished)
            answers.append(([t for e in log if isinstance(e, TextDelta) for t in e.tokens], log[-1]))
        return answers


def test_it_is_recognised(mamba: LlamaBackend) -> None:
    assert not mamba.info.partial_removal
    Conversation(mamba).ask("x", tokens=1)
    assert not mamba.truncate(0, 1), "llama.cpp refuses to cut"


def test_company_and_chunks_change_nothing(mamba: LlamaBackend) -> None:
    prompts = [LONG, "hello worms", "hello world"]
    alone = [Conversation(mamba).ask(prompt)[0][0] for prompt in prompts]
    assert [answer for answer, _ in Conversation(mamba).ask(*prompts)] == alone
    assert Conversation(mamba, max_rows=5).ask(LONG)[0][0] == alone[0]


def test_the_same_prompt_at_the_same_time_is_computed_once(mamba: LlamaBackend) -> None:
    plain, _ = Conversation(mamba).ask(LONG)[0]
    answers = Conversation(mamba).ask(LONG, LONG, LONG)
    assert [answer for answer, _ in answers] == [plain] * 3
    assert sorted(end.usage.computed for _, end in answers) == [1, 1, answers[0][1].usage.prompt]


def test_a_continued_conversation_is_remembered_and_a_shared_beginning_is_not(mamba: LlamaBackend) -> None:
    conversation = Conversation(mamba)
    [(first, _)] = conversation.ask(LONG)
    history = [1, *mamba.tokenize(LONG), *first]
    further = [*history, *mamba.tokenize(" and more")]
    [(second, end)] = conversation.ask(further)
    assert end.usage.reused == {"ram": len(history) - 1}
    assert second == Conversation(mamba).ask(further)[0][0]

    other = LONG[:-4] + " you"
    [(third, end)] = conversation.ask(other)
    assert end.usage.reused == {}
    assert third == Conversation(mamba).ask(other)[0][0]


def test_nobody_drafts(mamba: LlamaBackend) -> None:
    asked: list[int] = []

    def propose(sequence, limit):
        asked.append(limit)
        return Draft([5, 6])

    hooks = EngineHooks(propose_draft=GuardedHook((("eager", propose),)))
    plain, _ = Conversation(mamba).ask(LONG)[0]
    assert Conversation(mamba, hooks).ask(LONG)[0][0] == plain
    assert asked == []
