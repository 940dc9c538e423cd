"""GET /v1/reame/plugins, and what /metrics tells about hooks."""

from __future__ import annotations

from typing import Any

import msgspec

from reame_core.engine.events import Finished, Recalled, Timings, Usage
from reame_core.engine.verification import CoreVerifier
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import ApiRequest, Draft, FieldService
from reame_core.plugins.manager import PluginManager
from reame_core.server.plugin_help import PluginHelp
from reame_core.server.wire.plugins import PluginCondition, PluginConditions
from reame_core.testing import FakeBackend
from tests.server.support import FakeModel, Running, chat_body, running, settings_with

REPLY = "Nobody, and nothing but nobody."


class Oracle:
    """Knows the answer, serves a field, and fails when the server stops asking nicely."""

    def __init__(self) -> None:
        self.broken = False

    @hookimpl
    def propose_draft(self, sequence: Any, limit: int) -> Draft | None:
        said = len(sequence.tokens) - sequence.prompt_length
        tokens = FakeBackend().tokenize(REPLY)
        return Draft(tokens[said : said + limit]) if said < len(tokens) else None

    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        return FieldService(fields=frozenset({"reame.mine"})) if "reame.mine" in request.fields else None

    @hookimpl
    def metrics(self) -> list[Any]:
        if self.broken:
            raise RuntimeError("broken")
        return []


class Idle:
    @hookimpl
    def shutdown(self) -> None:
        """Never called here."""


def served(plugin: Any, **settings: Any) -> Any:
    backend = FakeBackend(cells=4096, replies={"Who?": REPLY})
    builtins = (("oracle", plugin), ("idle", Idle()), ("core", CoreVerifier()))
    return running(
        FakeModel(backend, PluginManager(builtins=builtins, entry_points=[])), settings_with(**settings)
    )


def conditions(server: Running) -> dict[str, PluginCondition]:
    response = server.http.get("/v1/reame/plugins")
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    found = msgspec.json.decode(response.content, type=PluginConditions)
    assert (found.reame.startswith(f"{found.api}."), found.reame) == (True, found.reame)
    return {plugin.name: plugin for plugin in found.plugins}


def test_costs_and_help_of_each_plugin() -> None:
    with served(Oracle()) as server:
        before = conditions(server)
        assert list(before) == ["oracle", "idle", "core"]
        assert all(hook.calls == 0 for plugin in before.values() for hook in plugin.hooks)
        answer = server.chat("Who?").json()
        assert answer["choices"][0]["message"]["content"] == REPLY
        headers = {"x-request-id": "mine-1"}
        body = chat_body("Who?", reame={"mine": 1})
        server.http.post("/v1/chat/completions", json=body, headers=headers)
        streamed = server.http.post("/v1/chat/completions", json={**body, "stream": True})
        server.wait_until_idle()
        after = conditions(server)
    oracle = after["oracle"]
    hooks = {hook.hook: hook for hook in oracle.hooks}
    assert hooks["propose_draft"].calls > 0
    assert 0 < hooks["propose_draft"].mean_us <= hooks["propose_draft"].longest_us
    assert 0 < hooks["propose_draft"].p99_us <= hooks["propose_draft"].longest_us
    assert hooks["propose_draft"].seconds > 0
    assert (hooks["propose_draft"].turn, hooks["propose_draft"].first_counts) == (0, False)
    assert after["core"].hooks[0].first_counts
    assert oracle.help.requests["served"] == 2
    assert oracle.help.latest[-2:] == ["mine-1", streamed.headers["x-request-id"]]
    assert after["idle"].help.requests == {}


def test_failures_are_told() -> None:
    plugin = Oracle()
    plugin.broken = True
    with served(plugin) as server:
        for _ in range(4):
            server.http.get("/metrics")
        oracle = conditions(server)["oracle"]
        [hook] = [hook for hook in oracle.hooks if hook.hook == "metrics"]
        assert (oracle.state, hook.errors, hook.calls) == ("active", 4, 4)


def test_metrics_of_hooks() -> None:
    with served(Oracle()) as server:
        server.chat("Who?")
        labels = {"plugin": "oracle", "hook": "propose_draft"}
        assert server.metric("reame_plugin_calls_total", **labels) > 0
        assert server.metric("reame_plugin_seconds_total", **labels) > 0


def test_it_wants_a_key_and_a_model() -> None:
    with served(Oracle(), api_key="secret") as server:
        assert server.http.get("/v1/reame/plugins").status_code == 401
        response = server.http.get("/v1/reame/plugins", headers={"authorization": "Bearer secret"})
        assert response.status_code == 200
    with running(loaded=False) as server:
        assert server.http.get("/v1/reame/plugins").status_code == 503


def ended(
    drafts: dict[str, tuple[int, int]] | None = None,
    reused: dict[str, int] | None = None,
    recalled: Recalled | None = None,
) -> Finished:
    usage = Usage(prompt=10, computed=3, reused=reused or {}, completion=5, drafts=drafts or {})
    return Finished(0, "stop", usage, Timings(1, 1, 1), recalled=recalled)


def test_a_request_counts_once_for_each_way_in_which_it_was_helped() -> None:
    given = PluginHelp()
    choice = ended({"archive": (8, 3), "lookup": (4, 0)}, {"ram": 5, "disk": 7})
    given.answered("a", [choice, choice], served=["structure"])
    given.answered("b", [ended(reused={"ram": 9})])
    given.answered("c", [ended(recalled=Recalled("shop"))])
    found = given.by_plugin
    assert set(found) == {"archive", "lookup", "disk", "structure", "shop"}
    assert found["archive"].requests == {"drafted": 1}
    assert (found["archive"].drafted_tokens, found["archive"].accepted_tokens) == (16, 6)
    assert (found["lookup"].requests, found["lookup"].drafted_tokens) == ({}, 8)
    assert (found["disk"].requests, found["disk"].restored_tokens) == ({"restored": 1}, 14)
    assert found["structure"].requests == {"served": 1}
    assert (found["shop"].requests, list(found["shop"].latest)) == ({"recalled": 1}, ["c"])


def test_only_the_latest_requests_are_named() -> None:
    given = PluginHelp()
    for number in range(20):
        given.answered(str(number), [ended({"archive": (1, 1)})])
    assert list(given.by_plugin["archive"].latest) == ["15", "16", "17", "18", "19"]
    assert given.by_plugin["archive"].requests == {"drafted": 20}
