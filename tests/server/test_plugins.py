"""What plugins add to the server: routes, request fields, metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from litestar import Request as LitestarRequest
from litestar import get, post

from reame_core.engine.request import Request
from reame_core.engine.verification import CoreVerifier
from reame_core.errors import InvalidRequest
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import (
    ApiRequest,
    FieldService,
    Group,
    Metric,
    PluginContext,
    Sample,
    ServerAccess,
    ToolCallPart,
)
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection
from reame_core.testing import FakeBackend, RuleConstraint
from tests.server.support import FakeModel, Running, chat_body, content_of, running, settings_with

AnyRequest = LitestarRequest[Any, Any, Any]
CHAT = "/v1/chat/completions"
PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text("utf-8")


def example(hook: str) -> str:
    section = re.search(rf"^### {hook}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section
    [block] = re.findall(r"^```python\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
    return str(block)


@contextmanager
def serving(*plugins: object, **settings: Any) -> Iterator[Running]:
    """A server with these plugins, called ``one``, ``two``, ..."""
    names = [(name, plugin) for name, plugin in zip(("one", "two", "three"), plugins, strict=False)]
    manager = PluginManager(builtins=(*names, ("core", CoreVerifier())), entry_points=[])
    backend = FakeBackend(cells=2048, replies={"Say hi": "Hello there!"})
    with running(FakeModel(backend, manager), settings_with(**settings)) as server:
        yield server


@pytest.fixture
def serving_example(tmp_path: Path) -> Callable[[str], Any]:
    def serve(hook: str) -> Any:
        (tmp_path / "example.py").write_text(example(hook))
        selection = PluginSelection(strict=True, folder=tmp_path)
        manager = PluginManager(selection, builtins=(("core", CoreVerifier()),), entry_points=[])
        backend = FakeBackend(cells=2048, replies={"Say hi": "Hello there!"})
        return running(FakeModel(backend, manager))

    return serve


def test_hook_register_routes_example(serving_example: Callable[[str], Any]) -> None:
    with serving_example("register_routes") as server:
        assert server.http.get("/v1/context").json() == {"tokens": 512}
        assert "/v1/context" in server.http.get("/schema").json()["paths"]


def test_hook_serve_fields_example(serving_example: Callable[[str], Any]) -> None:
    with serving_example("serve_fields") as server:
        answer = server.chat(temperature=0, reame={"shout": True}).json()
        assert answer["choices"][0]["message"]["content"] == "HELLO THERE!"
        chunks = server.chunks(CHAT, chat_body(temperature=0, reame={"shout": True}))
        assert content_of(chunks) == "HELLO THERE!"
        error = server.chat(reame={"shout": "loud"}).json()["error"]
        assert error["param"] == "reame.shout"
        assert server.chat(temperature=0).json()["choices"][0]["message"]["content"] == "Hello there!"


def test_constrained_answers_example(tmp_path: Path) -> None:
    [block] = re.findall(r"^## Constrained answers\n.*?^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "example.py").write_text(block)
    selection = PluginSelection(strict=True, folder=tmp_path)
    manager = PluginManager(selection, builtins=(("core", CoreVerifier()),), entry_points=[])
    backend = FakeBackend(cells=2048)
    manager.startup(lambda name: PluginContext(backend.info, {}, piece=backend.piece))
    with running(FakeModel(backend, manager)) as server:
        for temperature in (0, 2):
            [choice] = server.chat(reame={"digits": 4}, temperature=temperature).json()["choices"]
            assert re.fullmatch("[0-9]{4}", choice["message"]["content"])
            assert choice["finish_reason"] == "stop"
        assert server.chat(reame={"digits": -1}).json()["error"]["param"] == "reame.digits"
        broken = server.chat(reame={"digits": 4}, max_tokens=3).json()["choices"]
        assert broken[0]["finish_reason"] == "length"


def test_two_plugins_cannot_constrain_one_request() -> None:
    class Constraining:
        @hookimpl
        def serve_fields(self, request: ApiRequest) -> FieldService | None:
            return FieldService(
                fields=frozenset(), constraint=lambda prompt: RuleConstraint(lambda said: (97,))
            )

    with serving(Constraining(), Constraining()) as server:
        response = server.chat(reame={"anything": 1})
        assert response.status_code == 400


def test_hook_metrics_example(serving_example: Callable[[str], Any]) -> None:
    with serving_example("metrics") as server:
        server.chat(max_tokens=1, temperature=0)
        server.wait_until_idle()
        assert 'reame_example_answers_total{sampling="greedy"} 1.0' in server.http.get("/metrics").text


class Routes:
    """Everything that ``ServerAccess`` offers."""

    @hookimpl
    def register_routes(self, server: ServerAccess) -> list[object]:
        @get("/v1/who")
        async def who(request: AnyRequest) -> dict[str, Any]:
            found = {"caller": server.caller(request), "tenant": server.tenant(request)}
            return {**found, "model": server.model.name}

        @post("/v1/warm", status_code=200)
        async def warm(request: AnyRequest) -> dict[str, Any]:
            messages = (await request.json())["messages"]
            tokens = server.chat_tokens(messages)
            events = await server.run(Request(prompt=tokens, max_tokens=1, tenant=server.tenant(request)))
            used = await server.on_engine(lambda: 42)
            return {"tokens": len(tokens), "events": len(events), "engine": used}

        @get("/v1/fails/{how:str}")
        async def fails(how: str) -> None:
            if how == "badly":
                raise RuntimeError("secret")
            server.raw_tokens("\ud83d")

        return [who, warm, fails]


@pytest.mark.filterwarnings("ignore::litestar.exceptions.base_exceptions.LitestarDeprecationWarning")
def test_hook_register_routes_uses_the_server() -> None:
    with serving(Routes(), api_key=["alice:k"], isolate_keys=True) as server:
        server.http.headers["Authorization"] = "Bearer k"
        who = server.http.get("/v1/who").json()
        assert who == {"caller": "alice", "tenant": "alice", "model": "fake"}
        messages = [{"role": "user", "content": "Remember this"}]
        warmed = server.http.post("/v1/warm", json={"messages": messages}).json()
        assert warmed["engine"] == 42
        usage = server.chat("Remember this", max_tokens=1).json()["usage"]
        assert usage["prompt_tokens_details"]["cached_tokens"] == warmed["tokens"] - 1
        assert server.http.get("/v1/fails/well").status_code == 400
        broken = server.http.get("/v1/fails/badly")
        assert broken.status_code == 500
        assert "secret" not in broken.text
        del server.http.headers["Authorization"]
        assert server.http.get("/v1/who").status_code == 401


class Broken:
    @hookimpl
    def register_routes(self) -> list[object]:
        return ["no handler"]

    @hookimpl
    def serve_fields(self) -> FieldService:
        raise RuntimeError("broken")

    @hookimpl
    def metrics(self) -> list[Metric]:
        return ["no metric"]  # type: ignore[list-item]


def test_broken_plugins_break_nothing() -> None:
    with serving(Broken()) as server:
        assert server.chat(max_tokens=1, something="else").status_code == 200
        assert server.chat(response_format={"type": "json_object"}).status_code == 400
        assert (
            'reame_plugin_errors_total{hook="serve_fields",plugin="one"} 2.0'
            in server.http.get("/metrics").text
        )


class Tools:
    """Calls two tools whatever is asked, word by word."""

    def __init__(self) -> None:
        self.seen: list[ApiRequest] = []

    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        self.seen.append(request)
        tools = request.fields.get("tools")
        if not isinstance(tools, list):
            return None
        if tools == ["bad"]:
            raise InvalidRequest("tools[0] must be an object", param="tools[0]")
        return FieldService(
            fields=frozenset({"tools", "tool_choice"}),
            parser=lambda prompt: TwoCalls(),
            tools=tools,
            report=lambda: {"calls": 2},
        )


class TwoCalls:
    def __init__(self) -> None:
        self._begun = False

    def push(self, text: str) -> list[str | ToolCallPart]:
        if self._begun:
            return [ToolCallPart(1, text)]
        self._begun = True
        return [ToolCallPart(0, "{}", "call_a", "f"), ToolCallPart(1, text, "call_b", "g")]

    def end(self) -> list[str | ToolCallPart]:
        return [ToolCallPart(1, "!")]


def test_hook_serve_fields_case_104_tool_calls_have_indexes_and_ids() -> None:
    plugin = Tools()
    body = chat_body(temperature=0, tools=[{"type": "function"}], tool_choice="required")
    with serving(plugin) as server:
        whole = server.http.post(CHAT, json=body).json()
        [choice] = whole["choices"]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["content"] is None
        calls = [(c["id"], c["type"], c["function"]) for c in choice["message"]["tool_calls"]]
        assert calls == [
            ("call_a", "function", {"name": "f", "arguments": "{}"}),
            ("call_b", "function", {"name": "g", "arguments": "Hello there!!"}),
        ]
        assert whole["reame"]["plugins"] == {"one": {"calls": 2}}
        stream = server.openai().chat.completions.create(**body, stream=True)
        arguments: dict[int, str] = {}
        finish = None
        for chunk in stream:
            finish = chunk.choices[0].finish_reason or finish
            for part in chunk.choices[0].delta.tool_calls or ():
                assert part.function is not None
                arguments[part.index] = arguments.get(part.index, "") + (part.function.arguments or "")
        assert arguments == {0: "{}", 1: "Hello there!!"}
        assert finish == "tool_calls"
        refused = server.chat(tools=["bad"])
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "tools[0]")
    assert plugin.seen[0].fields == {"tools": [{"type": "function"}], "tool_choice": "required"}
    assert (plugin.seen[0].endpoint, plugin.seen[0].n) == ("chat", 1)


class Vote:
    """Lets the third candidate win, or nobody."""

    def __init__(self, winner: int | None) -> None:
        self.winner = winner

    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        if "reame.conclave" not in request.fields:
            return None
        return FieldService(fields=frozenset({"reame.conclave"}), candidates=5)

    @hookimpl
    def select_winner(self, group: Group) -> int | None:
        ended = [c.choice for c in group.candidates if c.state.value != "running"]
        return self.winner if self.winner in ended else None


@pytest.mark.parametrize("winner", [2, None])
def test_case_111_a_vote_answers_with_the_winner(winner: int | None) -> None:
    body = chat_body("Which", seed=3, temperature=1.3, max_tokens=6, ignore_eos=True)
    with serving(Vote(winner)) as server:
        candidates = server.http.post(CHAT, json=body | {"n": 5, "logprobs": True}).json()["choices"]
        answer = server.http.post(CHAT, json=body | {"reame": {"conclave": {}}}).json()
        [choice] = answer["choices"]
        assert choice["index"] == 0
        assert choice["logprobs"] is None
        means = [
            sum(t["logprob"] for t in c["logprobs"]["content"]) / len(c["logprobs"]["content"])
            for c in candidates
        ]
        expected = winner if winner is not None else max(range(5), key=means.__getitem__)
        assert choice["message"]["content"] == candidates[expected]["message"]["content"]
        assert answer["usage"]["completion_tokens"] > 6
        chunks = server.chunks(CHAT, body | {"reame": {"conclave": {}}})
        assert content_of(chunks) == choice["message"]["content"]
        refused = server.http.post(CHAT, json=body | {"reame": {"conclave": {}}, "n": 2})
        assert refused.json()["error"]["param"] == "n"


class Counted:
    @hookimpl
    def metrics(self) -> list[Metric]:
        return [Metric("cells", "Cells.", "gauge", [Sample(1.5)])]


def test_hook_metrics_of_several_plugins() -> None:
    with serving(Counted(), Counted()) as server:
        text = server.http.get("/metrics").text
    assert "reame_one_cells 1.5" in text
    assert "reame_two_cells 1.5" in text
