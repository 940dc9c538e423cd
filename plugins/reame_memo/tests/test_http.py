"""Known answers behind the HTTP server: the same answer, and not a row computed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from reame_conclave.plugin import ConclavePlugin
from reame_memo.plugin import Memo
from reame_memo.store import Limits, Store
from reame_memo.tenants import tenant_digest
from reame_suggeritore.plugin import Suggeritore

from plugins.reame_arca.tests.fleet import said
from reame_core.plugins.api import PluginContext
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.testing import FakeBackend
from tests.server.support import FakeModel, GatedBackend, Running, chat_body, content_of, running, settings_with

CHAT = "/v1/chat/completions"
GREEDY: dict[str, Any] = {"temperature": 0, "max_tokens": 40}


@contextmanager
def serving(
    folder: Path,
    *others: tuple[str, object],
    memo: dict[str, object] | None = None,
    backend: FakeBackend | None = None,
    plugin: Memo | None = None,
    **settings: Any,
) -> Iterator[Running]:
    backend = backend or FakeBackend(cells=4096)
    manager = PluginManager(builtins=(("memo", plugin or Memo()), *others, *BUILT_IN_PLUGINS), entry_points=[])
    options: dict[str, dict[str, object]] = {"memo": {"folder": str(folder), **(memo or {})}}
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
    note = answer["reame"].get("plugins", {}).get("memo")
    return note is not None and note["answer"] == "exact"


def keep(server: Running, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The computed answer, when it has been kept (behind the response's back)."""
    before = server.metric("reame_memo_kept")
    answer = ask()
    assert not known(answer)
    server.wait_until(lambda: server.metric("reame_memo_kept") > before)
    return answer


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"n": 3},
        {"logprobs": True, "top_logprobs": 2},
        {"stop": "e"},
        {"max_tokens": 4},
        {"logit_bias": {"5": 3}},
    ],
)
def test_the_same_request_again_computes_nothing(tmp_path: Path, fields: dict[str, Any]) -> None:
    asked = {**GREEDY, **fields}
    with serving(tmp_path) as server:
        first = keep(server, lambda: server.chat(**asked).json())
        rows = server.backend.rows_computed
        response = server.chat(**asked)
        again = response.json()
        assert known(again)
        assert response.headers["x-reame-memo"] == "exact"
        assert said(again) == said(first)
        assert again["usage"]["completion_tokens"] == first["usage"]["completion_tokens"]
        streamed = server.chunks(CHAT, chat_body(**asked))
        assert streamed[-1]["reame"]["plugins"]["memo"]["answer"] == "exact"
        assert content_of(streamed) == first["choices"][0]["message"]["content"]
        assert server.backend.rows_computed == rows
    with serving(tmp_path) as server:
        again = server.chat(**asked).json()
        assert known(again)
        assert said(again) == said(first)
        assert server.backend.rows_computed == 0, "nor in the next process"


def test_completions_too(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        first = keep(server, lambda: server.complete(**GREEDY).json())
        again = server.complete(**GREEDY).json()
        assert known(again)
        assert again["choices"] == first["choices"]


def test_what_declines_is_computed_and_not_kept(tmp_path: Path) -> None:
    declining: Sequence[dict[str, Any]] = (
        {"reame": {"memo": False}},
        {"cache_prompt": False},
        {"reame": {"cache": "bypass"}},
        {"temperature": 1},
    )
    with serving(tmp_path) as server:
        for fields in declining:
            for _ in range(2):
                assert not known(server.chat(**{**GREEDY, **fields}).json())
        keep(server, lambda: server.chat(**GREEDY).json())
        assert server.metric("reame_memo_kept") == 1
        for fields in declining:
            assert not known(server.chat(**{**GREEDY, **fields}).json())
        assert known(server.chat(**GREEDY, reame={"memo": True}).json())


@pytest.mark.parametrize("wrong", [1, "no", {"answers": False}, None])
def test_a_wrong_wish_is_refused_by_its_name(tmp_path: Path, wrong: object) -> None:
    with serving(tmp_path) as server:
        response = server.chat(reame={"memo": wrong})
        if wrong is None:
            assert response.status_code == 200
            return
        assert response.status_code == 400
        assert response.json()["error"]["param"] == "reame.memo"
        assert "true or false" in response.json()["error"]["message"]


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "ripe": {"type": "boolean"}},
    "required": ["name", "ripe"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "pick", "parameters": SCHEMA}}


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"name": "fruit", "schema": SCHEMA}}},
        {"tools": [TOOL], "tool_choice": "required"},
        {"regex": "[ab]{3}"},
    ],
)
def test_structured_answers_come_back_as_they_were(tmp_path: Path, fields: dict[str, Any]) -> None:
    def without_ids(answer: dict[str, Any]) -> dict[str, Any]:
        """Ids of tool calls are made anew for each answer."""
        for choice in answer["choices"]:
            for call in choice["message"].get("tool_calls") or ():
                call["id"] = ""
        return answer

    with serving(tmp_path, ("suggeritore", Suggeritore())) as server:
        first = keep(server, lambda: server.chat(**GREEDY, **fields).json())
        again = server.chat(**GREEDY, **fields).json()
        assert known(again)
        assert said(without_ids(again)) == said(without_ids(first))
        assert not known(server.chat(**GREEDY).json()), "without the constraint it is another question"


def test_a_vote_is_held_each_time(tmp_path: Path) -> None:
    with serving(tmp_path, ("conclave", ConclavePlugin())) as server:
        for _ in range(2):
            answer = server.chat(max_tokens=8, temperature=0, reame={"conclave": {"n": 3}}).json()
            assert "conclave" in answer["reame"]["plugins"]
            assert not known(answer)
        keep(server, lambda: server.chat(**GREEDY).json())
        assert server.metric("reame_memo_kept") == 1


def test_tenants_never_meet(tmp_path: Path) -> None:
    def ask(server: Running, key: str) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {key}"}
        response = httpx.post(server.url + CHAT, json=chat_body(**GREEDY), headers=headers, timeout=60)
        found: dict[str, Any] = response.json()
        return found

    keys: Sequence[str] = ["alice:one", "bob:two"]
    with serving(tmp_path, api_key=keys, isolate_keys=True) as server:
        server.http.headers["authorization"] = "Bearer one"
        first = keep(server, lambda: ask(server, "one"))
        assert known(ask(server, "one"))
        assert said(keep(server, lambda: ask(server, "two"))) == said(first)
        assert known(ask(server, "two"))
        store = Store(tmp_path, Limits(1e9, 1e9))
        assert store.forget(tenant=tenant_digest("alice")) == 1, "by the name that the key has in the settings"
        store.close()
        assert known(ask(server, "two"))
        assert not known(ask(server, "one"))


def test_four_at_once_are_computed_once(tmp_path: Path) -> None:
    backend, plugin = GatedBackend(cells=4096), Memo()
    with serving(tmp_path, backend=backend, plugin=plugin) as server:
        answers: list[dict[str, Any]] = []
        backend.hold()
        threads = [
            threading.Thread(target=lambda: answers.append(server.chat(**GREEDY).json())) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        server.wait_until(lambda: plugin.service is not None and len(plugin.service._cases) == 4)
        backend.allow(None)
        for thread in threads:
            thread.join()
        assert sorted(known(each) for each in answers) == [False, True, True, True]
        assert len({each["choices"][0]["message"]["content"] for each in answers}) == 1


def test_nothing_is_kept_where_there_is_no_room_for_it(tmp_path: Path) -> None:
    with serving(tmp_path, memo={"max_size_mb": 0}) as server:
        for _ in range(2):
            assert not known(server.chat(**GREEDY).json())
        assert not list(tmp_path.iterdir())
        assert server.chat(**GREEDY, reame={"memo": False}).status_code == 200
