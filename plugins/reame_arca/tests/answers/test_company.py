"""Whole answers beside other plugins, keys and streams, in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from reame_arca.plugin import Arca
from reame_conclave.plugin import ConclavePlugin
from reame_suggeritore.plugin import Suggeritore

from plugins.reame_arca.tests.fleet import said
from plugins.reame_arca.tests.real_store import RealStore, wait_until
from reame_core.plugins.api import PluginContext
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.testing import FakeBackend
from tests.server.support import FakeModel, Running, chat_body, content_of, running, settings_with

CHAT = "/v1/chat/completions"
GREEDY: dict[str, Any] = {"temperature": 0, "max_tokens": 40}


@contextmanager
def serving(
    store: RealStore,
    *others: tuple[str, object],
    arca: dict[str, object] | None = None,
    **settings: Any,
) -> Iterator[Running]:
    """A server with the plugin, its options ``arca``, and ``others``."""
    backend = FakeBackend(cells=4096)
    manager = PluginManager(builtins=(("arca", Arca()), *others, *BUILT_IN_PLUGINS), entry_points=[])
    options: dict[str, dict[str, object]] = {"arca": {"url": store.url, "timeout_ms": 10_000, **(arca or {})}}
    manager.startup(
        lambda plugin: PluginContext(
            backend.info,
            options.get(plugin, {}),
            {"model": "fake"},
            tokenizer="fake",
            piece=backend.piece,
            tokenize=backend.tokenize,
        )
    )
    try:
        with running(FakeModel(backend, manager), settings_with(**settings)) as server:
            yield server
    finally:
        manager.shutdown()


def known(answer: dict[str, Any]) -> bool:
    note = answer["reame"].get("plugins", {}).get("arca")
    return note is not None and note["answer"] == "exact"


def until_known(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    answers: list[dict[str, Any]] = []

    def asked() -> bool:
        answers.append(ask())
        return known(answers[-1])

    wait_until(asked)
    return answers[-1]


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "ripe": {"type": "boolean"}},
    "required": ["name", "ripe"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "pick", "parameters": SCHEMA}}
STRUCTURED: list[dict[str, Any]] = [
    {"response_format": {"type": "json_schema", "json_schema": {"name": "fruit", "schema": SCHEMA}}},
    {"tools": [TOOL], "tool_choice": "required"},
    {"regex": "[ab]{3}"},
]


@pytest.mark.parametrize("fields", STRUCTURED)
def test_structured_answers_come_back_as_they_were(store: RealStore, fields: dict[str, Any]) -> None:
    with serving(store, ("suggeritore", Suggeritore())) as server:
        first = server.chat(**GREEDY, **fields).json()
        again = until_known(lambda: server.chat(**GREEDY, **fields).json())
        assert said(without_ids(again)) == said(without_ids(first))
        plain = server.chat(**GREEDY).json()
        assert not known(plain), "without the constraint it is another question"
        streamed = server.chunks(CHAT, chat_body(**GREEDY, **fields))
        assert streamed[-1]["reame"]["plugins"]["arca"]["answer"] == "exact"
        content = first["choices"][0]["message"]["content"]
        assert content_of(streamed) == (content or "")


def without_ids(answer: dict[str, Any]) -> dict[str, Any]:
    """Ids of tool calls are made anew for each answer."""
    for choice in answer["choices"]:
        for call in choice["message"].get("tool_calls") or ():
            call["id"] = ""
    return answer


def test_a_vote_is_held_each_time(store: RealStore) -> None:
    with serving(store, ("conclave", ConclavePlugin())) as server:
        for _ in range(2):
            answer = server.chat(max_tokens=8, temperature=0, reame={"conclave": {"n": 3}}).json()
            assert "conclave" in answer["reame"]["plugins"]
            assert not known(answer)
        assert not store.names()


def test_tenants_never_meet(store: RealStore) -> None:
    def ask(server: Running, key: str) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {key}"}
        response = httpx.post(server.url + CHAT, json=chat_body(**GREEDY), headers=headers, timeout=60)
        found: dict[str, Any] = response.json()
        return found

    keys: Sequence[str] = ["alice:one", "bob:two"]
    with serving(store, api_key=keys, isolate_keys=True) as server:
        first = ask(server, "one")
        until_known(lambda: ask(server, "one"))
        assert not known(ask(server, "two")), "what one client was told another one is not"
        assert said(until_known(lambda: ask(server, "two"))) == said(first)
    with serving(store, api_key=keys) as server:
        assert not known(ask(server, "two")), "nor do those who share find what is one client's"


def test_metrics_tell_what_was_shared(store: RealStore) -> None:
    with serving(store) as server:
        server.chat(**GREEDY)
        until_known(lambda: server.chat(**GREEDY).json())
        text = server.http.get("/metrics").text
        assert 'reame_arca_answers_total{outcome="recalled"} 1.0' in text
        assert "reame_arca_answers_tokens_total 40.0" in text
        assert "reame_arca_store_available 1.0" in text
        assert 'reame_answers_recalled_total{plugin="arca"} 1.0' in text


def test_a_seed_makes_sampled_answers_shareable_where_that_is_wanted(store: RealStore) -> None:
    drawn: dict[str, Any] = {"max_tokens": 20, "temperature": 1}
    with serving(store, arca={"answers_seeded": True}) as server:
        first = server.chat(seed=4, **drawn).json()
        assert said(until_known(lambda: server.chat(seed=4, **drawn).json())) == said(first)
        for other in ({"seed": 5}, {"seed": 4, "top_p": 0.5}, {}):
            assert not known(server.chat(**drawn, **other).json())
    with serving(store) as server:
        assert not known(server.chat(seed=4, **drawn).json()), "not where it is not"
