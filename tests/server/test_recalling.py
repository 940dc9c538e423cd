"""Answers that a plugin knows: the hooks ``recall_answer`` and ``keep_answer``."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reame_core.engine.events import TextDelta
from reame_core.engine.verification import CoreVerifier
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import (
    AnsweredChoice,
    ApiRequest,
    AskAgain,
    FieldService,
    KnownAnswer,
    PluginContext,
    Question,
)
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection
from reame_core.testing import FakeBackend
from tests.server.support import (
    PATIENCE,
    FakeModel,
    GatedBackend,
    Running,
    chat_body,
    content_of,
    running,
)
from tests.server.test_disconnect import connected, read_until

CHAT = "/v1/chat/completions"
PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text("utf-8")
GREEDY: dict[str, Any] = {"temperature": 0}


def question_text(question: Question) -> tuple[int, ...]:
    return question.request.prompt


class Memory:
    """Knows again what was computed for the same prompt. ``wait`` says for how many calls to wait first."""

    def __init__(self, wait: int = 0) -> None:
        self.known: dict[tuple[int, ...], KnownAnswer] = {}
        self.asked: list[Question] = []
        self.kept: list[tuple[Question, Sequence[AnsweredChoice] | None]] = []
        self.wait = wait
        self.changed = threading.Condition()

    @hookimpl
    def recall_answer(self, question: Question) -> KnownAnswer | AskAgain | None:
        with self.changed:
            self.asked.append(question)
            self.changed.notify_all()
            if self.wait:
                self.wait -= 1
                return AskAgain(0.001)
            return self.known.get(question_text(question))

    @hookimpl
    def keep_answer(self, question: Question, answer: Sequence[AnsweredChoice] | None) -> None:
        with self.changed:
            self.kept.append((question, answer))
            if answer is not None:
                self.known[question_text(question)] = KnownAnswer(answer, {"known": True})
            self.changed.notify_all()

    def until_kept(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.kept) >= count, PATIENCE)

    def until_asked(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.asked) >= count, PATIENCE)


@contextmanager
def serving(*plugins: object, backend: FakeBackend | None = None, queue: int = 64) -> Iterator[Running]:
    names = [(name, plugin) for name, plugin in zip(("memory", "two"), plugins, strict=False)]
    manager = PluginManager(builtins=(*names, ("core", CoreVerifier())), entry_points=[])
    backend = backend or FakeBackend(cells=2048, replies={"Say hi": "Hello there!"})
    with running(FakeModel(backend, manager, queue=queue)) as server:
        yield server


def without_traces(response: dict[str, Any]) -> dict[str, Any]:
    """An answer without what tells how it came about."""
    kept = {key: value for key, value in response.items() if key not in ("id", "created", "reame", "usage")}
    counts = {key: value for key, value in response["usage"].items() if key.endswith("_tokens")}
    return kept | {"usage": counts}


def example(hook: str) -> str:
    section = re.search(rf"^### {hook}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section
    [block] = re.findall(r"^```python\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
    return str(block)


@contextmanager
def serving_example(hook: str, folder: Path, **options: object) -> Iterator[Running]:
    (folder / "example.py").write_text(example(hook))
    selection = PluginSelection(strict=True, folder=folder)
    manager = PluginManager(selection, builtins=(("core", CoreVerifier()),), entry_points=[])
    backend = FakeBackend(cells=2048, replies={"Say hi": "Hello there!"})
    manager.startup(lambda name: PluginContext(backend.info, options))
    with running(FakeModel(backend, manager)) as server:
        yield server


def test_hook_recall_answer_example(tmp_path: Path) -> None:
    with serving_example("recall_answer", tmp_path) as server:
        first = server.chat(**GREEDY).json()
        assert "plugins" not in first["reame"]
        again = until_recalled(lambda: server.chat(**GREEDY).json())
        assert again["reame"]["plugins"]["example"] == {"remembered": True}
        assert without_traces(again) == without_traces(first)
        for other in ({"temperature": 1}, {"temperature": 0, "max_tokens": 3}, {"temperature": 0, "stop": "!"}):
            assert "plugins" not in server.chat(**other).json()["reame"]


def test_whoever_waits_for_an_answer_is_told_that_another_plugin_knew_it() -> None:
    asked, knows = Memory(), Memory()
    with serving(asked, knows) as server:
        server.chat(**GREEDY)
        knows.until_kept(1)
        asked.known.clear()
        asked.kept.clear()
        knows.kept.clear()
        again = server.chat(**GREEDY).json()
        assert again["reame"]["plugins"] == {"two": {"known": True}}
        asked.until_kept(1)
        assert asked.kept == [(asked.asked[-1], None)]
        server.chat("Something else", **GREEDY)
        knows.until_kept(1)
        assert [answer is None for _, answer in knows.kept] == [False], "of the other one it knew the answer"


def until_recalled(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is kept is kept behind the response's back."""
    for _ in range(200):
        answer = ask()
        if "plugins" in answer["reame"]:
            return answer
    raise AssertionError("it is never recalled")


def test_hook_keep_answer_example(tmp_path: Path) -> None:
    with serving_example("keep_answer", tmp_path, file=str(tmp_path / "answers.jsonl")) as server:
        server.chat(n=2, **GREEDY)
        journal = tmp_path / "answers.jsonl"
        server.wait_until(lambda: journal.exists() and journal.read_text().endswith("\n"))
        assert journal.read_text() == '["Hello there!", "Hello there!"]\n'


@pytest.mark.parametrize(
    "fields",
    [{}, {"n": 3}, {"logprobs": True, "top_logprobs": 2}, {"max_tokens": 4}, {"stop": "there"}],
)
def test_hook_recall_answer_gives_the_same_answer(fields: dict[str, Any]) -> None:
    memory = Memory()
    with serving(memory) as server:
        first = server.chat(**GREEDY, **fields).json()
        memory.until_kept(1)
        again = server.chat(**GREEDY, **fields).json()
        assert without_traces(again) == without_traces(first)
        assert again["reame"]["plugins"] == {"memory": {"known": True}}
        assert again["reame"]["prompt_tokens"] == {"computed": 0, "memory": first["usage"]["prompt_tokens"]}
        assert again["usage"]["prompt_tokens_details"]["cached_tokens"] == first["usage"]["prompt_tokens"]
        assert server.metric("reame_answers_recalled_total", plugin="memory") == fields.get("n", 1)
        assert server.metric("reame_generation_tokens_total") == first["usage"]["completion_tokens"]
        assert len(memory.kept) == 1, "nobody is told what was known"


def test_hook_recall_answer_streams_in_pieces() -> None:
    memory = Memory()
    with serving(memory) as server:
        body = chat_body("Tell me something", max_tokens=20, stream_options={"include_usage": True}, **GREEDY)
        first = server.chunks(CHAT, body)
        memory.until_kept(1)
        again = server.chunks(CHAT, body)
        assert content_of(again) == content_of(first)
        assert again[-1]["reame"]["plugins"] == {"memory": {"known": True}}
        assert again[-1]["usage"]["completion_tokens"] == first[-1]["usage"]["completion_tokens"]
        texts = [choice for chunk in again for choice in chunk["choices"] if choice["delta"].get("content")]
        assert len(texts) == len(memory.known.popitem()[1].choices[0].deltas) > 5


def test_hook_recall_answer_for_some_of_several_prompts() -> None:
    memory = Memory()
    with serving(memory) as server:
        alone = server.complete("Say hi", **GREEDY).json()["choices"][0]["text"]
        memory.until_kept(1)
        both = server.complete(["Once", "Say hi"], **GREEDY).json()
        assert both["choices"][1]["text"] == alone
        assert both["reame"]["plugins"] == {"memory": [None, {"known": True}]}
        assert (
            both["choices"][0]["text"]
            == server.complete("Once", cache_prompt=False, **GREEDY).json()["choices"][0]["text"]
        )


@pytest.mark.parametrize("fields", [{"cache_prompt": False}, {"reame": {"cache": "bypass"}}])
def test_hook_recall_answer_is_not_called_for_those_who_want_it_computed(fields: dict[str, Any]) -> None:
    memory = Memory()
    with serving(memory) as server:
        assert server.chat(**GREEDY, **fields).status_code == 200
        assert not memory.asked
        assert server.complete(best_of=2, **GREEDY).status_code == 200
        assert not memory.asked, "nor where the best of several is chosen"


class Reporting:
    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        fields = frozenset({"reame.why", "reame.tone"} & request.fields.keys())
        return FieldService(fields=fields, report=(lambda: "so") if "reame.why" in fields else None)


def test_hook_recall_answer_is_told_what_plugins_were_asked() -> None:
    memory = Memory()
    with serving(memory, Reporting()) as server:
        server.chat(**GREEDY, reame={"why": True})
        assert not memory.asked, "a plugin tells how the answer was computed"
        server.chat(**GREEDY, reame={"tone": {"dry": True}})
        assert memory.asked[0].fields == {"two": {"reame.tone": {"dry": True}}}
        assert memory.asked[0].versions.keys() == {"two"}
        prompt = len(memory.asked[0].request.prompt)
        assert memory.asked[0].room == server.model.context_length - prompt
        server.chat(**GREEDY, max_tokens=7)
        assert memory.asked[1].room == 7


def test_hook_recall_answer_waits_for_somebody_else() -> None:
    memory = Memory()
    with serving(memory) as server:
        first = server.chat(**GREEDY).json()
        memory.until_kept(1)
        memory.wait = 5
        again = server.chat(**GREEDY).json()
        assert len(memory.asked) == 7
        assert len(set(map(id, memory.asked))) == 2, "the same question is asked again"
        assert without_traces(again) == without_traces(first)


def test_hook_recall_answer_a_client_that_leaves_while_it_waits() -> None:
    memory = Memory(wait=1_000_000)
    with serving(memory) as server:
        with connected(server, chat_body(**GREEDY)):
            memory.until_asked(3)
        memory.until_kept(1)
        assert memory.kept[0][1] is None
        server.wait_until_idle()


def test_hook_keep_answer_of_a_client_that_leaves() -> None:
    memory = Memory()
    backend = GatedBackend(cells=2048)
    with serving(memory, backend=backend) as server:
        backend.allow(3, anew=True)
        with connected(server, chat_body(stream=True, **GREEDY)) as connection:
            read_until(connection, b"data:")
            backend.wait_until_blocked()
        server.wait_until(lambda: not server.state.exchanges)
        backend.allow(None)
        memory.until_kept(1)
        assert memory.kept[0][1] is None


def test_hook_keep_answer_when_the_engine_fails() -> None:
    memory = Memory()
    with serving(memory, backend=FakeBackend(cells=2048, fail_on=range(100))) as server:
        assert server.chat(**GREEDY).status_code == 500
        memory.until_kept(1)
        assert memory.kept[0][1] is None


def test_a_full_queue_is_still_a_503_and_known_answers_are_given_all_the_same() -> None:
    memory = Memory()
    backend = GatedBackend(cells=2048, replies={"Say hi": "Hello there!"})
    with serving(memory, backend=backend, queue=1) as server:
        server.chat(**GREEDY)
        memory.until_kept(1)
        backend.hold()
        busy = [connected(server, chat_body(f"Number {each}")) for each in range(10)]
        for each in busy:
            each.__enter__()
        server.wait_until(lambda: server.metric("reame_requests_refused_total", code="queue_full") > 0)
        for body in (chat_body("Another"), chat_body("Another", stream=True)):
            response = server.http.post(CHAT, json=body)
            assert response.status_code == 503
            assert response.json()["error"]["code"] == "queue_full"
        assert server.chat(**GREEDY).json()["reame"]["plugins"] == {"memory": {"known": True}}
        backend.allow(None)
        for each in busy:
            each.__exit__(None, None, None)


@pytest.mark.parametrize(
    "answer", ["no answer", KnownAnswer([]), RuntimeError("broken"), AskAgain(-1), AskAgain(float("nan"))]
)
def test_hook_recall_answer_broken_plugins_break_nothing(answer: object) -> None:
    class Broken:
        calls = 0

        @hookimpl
        def recall_answer(self, question: Question) -> Any:
            self.calls += 1
            if isinstance(answer, Exception):
                raise answer
            return answer if self.calls < 4 else None

        @hookimpl
        def keep_answer(self) -> None:
            raise RuntimeError("broken too")

    with serving(Broken()) as server:
        for _ in range(5):
            assert server.chat(**GREEDY).json()["choices"][0]["message"]["content"] == "Hello there!"


def test_deltas_of_a_known_answer_may_name_any_choice() -> None:
    class Oracle:
        @hookimpl
        def recall_answer(self, question: Question) -> KnownAnswer:
            return KnownAnswer([AnsweredChoice([TextDelta(9, "Yes", (1,))], "stop", 2)] * question.request.n)

    with serving(Oracle()) as server:
        answer = server.chat(n=2).json()
        assert [choice["message"]["content"] for choice in answer["choices"]] == ["Yes", "Yes"]
        assert answer["usage"]["completion_tokens"] == 4
        assert answer["reame"]["plugins"] == {"memory": None}


def test_headers_of_a_known_answer_are_those_of_the_response() -> None:
    headers = {"X-Reame-Memory": "näive\r\nx", "content-length": "1"}

    class Oracle:
        @hookimpl
        def recall_answer(self, question: Question) -> KnownAnswer:
            delta = TextDelta(0, "Yes", (1,))
            return KnownAnswer([AnsweredChoice([delta], "stop", 2)], headers=headers)

    with serving(Oracle()) as server:
        whole = server.chat()
        assert whole.headers["x-reame-memory"] == "n?ive??x"
        assert whole.json()["choices"][0]["message"]["content"] == "Yes"
        streamed = server.http.post(CHAT, json=chat_body(stream=True))
        assert streamed.headers["x-reame-memory"] == "n?ive??x"
        assert '"content":"Yes"' in streamed.text
