"""``/v1/warm``, ``/v1/sessions`` and ``reame.explain``, over HTTP."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog
from reame_diskkv.plugin import DiskKV
from reame_diskkv.store import Store

from plugins.reame_diskkv.tests.driver import BLOCK, NAMESPACE, block_files
from reame_core.engine.verification import CoreVerifier
from reame_core.plugins.api import PluginContext
from reame_core.plugins.manager import PluginManager
from reame_core.testing import FakeBackend
from tests.server.support import FakeModel, GatedBackend, Running, running, settings_with

SYSTEM = {"role": "system", "content": "You are the clerk of a small harbour and answer in short sentences."}


@pytest.fixture(autouse=True)
def _quiet_log() -> Iterator[None]:
    structlog.configure(processors=[structlog.testing.LogCapture()])
    yield
    structlog.reset_defaults()


def asked(question: str) -> list[dict[str, str]]:
    return [SYSTEM, {"role": "user", "content": question}]


@contextmanager
def serving(
    folder: Path,
    backend: FakeBackend | None = None,
    namespace: dict[str, str] | None = None,
    options: dict[str, Any] | None = None,
    **settings: Any,
) -> Iterator[Running]:
    """A server whose disk cache is in ``folder``."""
    plugin = DiskKV()
    backend = backend or FakeBackend(cells=2048)
    plugins = PluginManager(builtins=(("diskkv", plugin), ("core", CoreVerifier())), entry_points=[])
    table = {"folder": str(folder), "block_tokens": BLOCK, "min_tokens": 4, **(options or {})}
    plugins.startup(
        lambda name: PluginContext(backend.info, table, namespace or NAMESPACE, piece=backend.piece)
    )
    try:
        with running(FakeModel(backend, plugins), settings_with(**settings)) as server:
            yield server
    finally:
        plugins.shutdown()


def ok(response: Any) -> Any:
    assert response.status_code == 200, response.text
    return response.json()


def cached_tokens(server: Running, messages: list[dict[str, str]], **fields: Any) -> int:
    body = {"model": "fake", "messages": messages, "max_tokens": 4, "temperature": 0, **fields}
    usage = ok(server.http.post("/v1/chat/completions", json=body))["usage"]
    return int(usage["prompt_tokens_details"]["cached_tokens"])


def answer(server: Running, messages: list[dict[str, str]]) -> str:
    body = {"model": "fake", "messages": messages, "max_tokens": 12, "temperature": 0}
    return str(ok(server.http.post("/v1/chat/completions", json=body))["choices"][0]["message"]["content"])


def test_warm_then_a_question_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        warmed = ok(server.http.post("/v1/warm", json={"messages": [SYSTEM]}))
        assert warmed["computed_tokens"] == warmed["tokens"]
        assert warmed["stored_tokens"] == warmed["tokens"]
        assert warmed["blocks"] == -(-warmed["tokens"] // BLOCK) == len(block_files(tmp_path))
        assert warmed["blocks_written"] == warmed["blocks"]
    with serving(tmp_path) as server:
        # All but the tail with which the template asks for an answer.
        assert cached_tokens(server, asked("When is high tide?")) >= warmed["tokens"] - 15
        again = ok(server.http.post("/v1/warm", json={"messages": [SYSTEM]}))
        assert again["computed_tokens"] <= 15
        assert again["blocks_written"] == 0


def test_warm_a_text(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        warmed = ok(server.http.post("/v1/warm", json={"prompt": "Once upon a time there was a king."}))
        assert warmed["stored_tokens"] == warmed["tokens"]


@pytest.mark.parametrize("body", [{}, {"prompt": "x", "messages": []}, {"prompt": 5}, {"messages": []}])
def test_warm_refuses_what_is_no_prompt(tmp_path: Path, body: dict[str, Any]) -> None:
    with serving(tmp_path) as server:
        response = server.http.post("/v1/warm", json=body)
        assert response.status_code == 400
        assert response.json()["error"]["type"] == "invalid_request_error"


def test_warm_waits_for_users(tmp_path: Path) -> None:
    backend = GatedBackend(cells=2048, max_rows=64)
    with serving(tmp_path, backend) as server:
        engine = server.model.worker.engine
        server.gate.hold()
        results: dict[str, Any] = {}

        def warm() -> None:
            results["warm"] = server.http.post("/v1/warm", json={"messages": [SYSTEM]})

        def ask() -> None:
            results["chat"] = server.chat("Say hi", max_tokens=30)

        warming, asking = threading.Thread(target=warm), threading.Thread(target=ask)
        warming.start()
        server.gate.wait_until_blocked()
        asking.start()
        server.wait_until(lambda: len(server.state.exchanges) == 2)
        server.gate.allow(1)
        server.wait_until(lambda: [s.request.background for s in engine.running] == [False])
        server.gate.allow(None)
        asking.join(60)
        warming.join(60)
        assert ok(results["chat"])
        assert ok(results["warm"])["stored_tokens"]


def test_a_session_outlives_a_restart(tmp_path: Path) -> None:
    # case 1
    history = [*asked("When is high tide?"), {"role": "assistant", "content": "At noon and at midnight."}]
    following = [*history, {"role": "user", "content": "And tomorrow?"}]
    with serving(tmp_path / "other") as plain:
        expected = answer(plain, following)
    with serving(tmp_path) as server:
        session = ok(server.http.post("/v1/sessions", json={"title": "tides"}))
        assert re.fullmatch(r"sess_[\w-]{24}", session["id"])
        assert session["saved"] is None
        saved = ok(server.http.post(f"/v1/sessions/{session['id']}/save", json={"messages": history}))
        assert saved["stored_tokens"] == saved["tokens"]
    with serving(tmp_path) as server:
        [listed] = ok(server.http.get("/v1/sessions"))["data"]
        assert (listed["id"], listed["title"], listed["tokens"]) == (session["id"], "tides", saved["tokens"])
        loaded = ok(server.http.post(f"/v1/sessions/{session['id']}/load"))
        assert loaded["computed_tokens"] == 1
        assert loaded["stored_tokens"] == saved["tokens"]
        for path in tmp_path.glob("blocks/*/*"):
            path.unlink()  # from here on everything is in memory
        assert cached_tokens(server, following) >= saved["tokens"] - 15
        assert answer(server, following) == expected


def test_sessions_keep_their_blocks(tmp_path: Path) -> None:
    limit = {"max_size_mb": 0.9}
    history = asked("When is high tide?")
    with serving(tmp_path, options=limit) as server:
        session = ok(server.http.post("/v1/sessions"))["id"]
        saved = ok(server.http.post(f"/v1/sessions/{session}/save", json={"messages": history}))
        for number in range(60):
            ok(server.http.post("/v1/warm", json={"prompt": f"{number} " * 100}))
        assert "reame_diskkv_evicted_blocks_total 0.0" not in server.http.get("/metrics").text
    with serving(tmp_path) as server:
        loaded = ok(server.http.post(f"/v1/sessions/{session}/load"))
        assert loaded["computed_tokens"] == 1
        assert ok(server.http.delete(f"/v1/sessions/{session}"))["deleted"] is True
        assert server.http.get(f"/v1/sessions/{session}").status_code == 404
        assert saved["tokens"] > 0


def test_sessions_belong_to_keys(tmp_path: Path) -> None:
    with serving(tmp_path, api_key=["alice:a", "bob:b"]) as server:
        alice, bob = {"Authorization": "Bearer a"}, {"Authorization": "Bearer b"}
        session = ok(server.http.post("/v1/sessions", headers=alice))["id"]
        for method, path in [
            ("GET", ""),
            ("DELETE", ""),
            ("POST", "/load"),
            ("POST", "/save"),
        ]:
            body = {"messages": asked("Hello?")} if path == "/save" else None
            refused = server.http.request(method, f"/v1/sessions/{session}{path}", json=body, headers=bob)
            assert refused.status_code == 404, (method, path)
        assert ok(server.http.get("/v1/sessions", headers=bob))["data"] == []
        assert server.http.get("/v1/sessions").status_code == 401
        assert ok(server.http.get(f"/v1/sessions/{session}", headers=alice))["id"] == session


@pytest.mark.parametrize("name", ["sess_unknown", "..%2F..%2Findex.db", "sess_' OR 1=1 --", "%00", "x" * 3000])
def test_names_of_sessions_are_only_looked_up(tmp_path: Path, name: str) -> None:
    with serving(tmp_path) as server:
        ok(server.http.post("/v1/sessions"))
        response = server.http.get(f"/v1/sessions/{name}")
        assert response.status_code in (400, 404, 414)
        assert response.json()["error"]["message"]


def test_what_cannot_be_loaded_is_an_error(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        session = ok(server.http.post("/v1/sessions"))["id"]
        never = server.http.post(f"/v1/sessions/{session}/load")
        assert (never.status_code, "never saved" in never.text) == (400, True)
        ok(server.http.post(f"/v1/sessions/{session}/save", json={"messages": asked("Hello?")}))
    with serving(tmp_path, namespace={"model": "another"}) as server:
        other = server.http.post(f"/v1/sessions/{session}/load")
        assert (other.status_code, "another model" in other.text) == (400, True)


def test_an_unknown_session_and_an_empty_one_change_nothing(tmp_path: Path) -> None:
    # case 41
    history = asked("When is high tide?")
    with serving(tmp_path) as server:
        known = cached_tokens(server, history) or cached_tokens(server, history)
        session = ok(server.http.post("/v1/sessions"))["id"]
        for body in ({}, {"messages": []}, {"prompt": ""}):
            assert server.http.post(f"/v1/sessions/{session}/save", json=body).status_code == 400, body
        assert server.http.post("/v1/sessions/sess_unknown/load").status_code == 404
        assert server.http.post(f"/v1/sessions/{session}/load").status_code == 400
        assert cached_tokens(server, history) == known > 0


def test_a_session_that_cannot_be_stored_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path) as server:
        session = ok(server.http.post("/v1/sessions"))["id"]
        ok(server.http.post("/v1/warm", json={"prompt": "Others are there"}))
        monkeypatch.setattr(Store, "put", lambda *_, **__: False)
        response = server.http.post(f"/v1/sessions/{session}/save", json={"messages": asked("Hello?")})
        assert response.status_code == 500
        assert "could be stored" in response.json()["error"]["message"]


def test_without_room_no_session_begins(tmp_path: Path) -> None:
    with serving(tmp_path, options={"max_size_mb": 0.001}) as server:
        assert_no_room(server.http.post("/v1/sessions"))


def test_sessions_never_make_room_for_each_other(tmp_path: Path) -> None:
    kept: dict[str, dict[str, str]] = {}
    with serving(tmp_path, options={"max_size_mb": 0.9}) as server:
        ok(server.http.post("/v1/warm", json={"prompt": "Nobody keeps this. " * 5}))
        for number in range(300):
            session = ok(server.http.post("/v1/sessions"))["id"]
            body = {"prompt": f"{number} " * 100}
            response = server.http.post(f"/v1/sessions/{session}/save", json=body)
            if response.status_code != 200:
                break
            kept[session] = body
        assert_no_room(response)
        again = next(iter(kept))
        assert_no_room(server.http.post(f"/v1/sessions/{again}/save", json=body))
    with serving(tmp_path) as server:
        for each in kept:
            assert ok(server.http.post(f"/v1/sessions/{each}/load"))["computed_tokens"] == 1
    with serving(tmp_path, options={"max_size_mb": 0.9}) as server:
        for each in list(kept)[:3]:
            ok(server.http.delete(f"/v1/sessions/{each}"))
        ok(server.http.post(f"/v1/sessions/{session}/save", json=body))


def assert_no_room(response: Any) -> None:
    assert (response.status_code, response.headers.get("x-should-retry")) == (507, "false"), response.text
    message = response.json()["error"]["message"]
    assert "plugins.diskkv.max_size_mb" in message
    assert "delete sessions" in message


def test_what_somebody_asks_to_keep_may_be_short(tmp_path: Path) -> None:
    with serving(tmp_path, options={"min_tokens": 500}) as server:
        warmed = ok(server.http.post("/v1/warm", json={"prompt": "Hi"}))
        assert warmed["stored_tokens"] == warmed["tokens"]
        session = ok(server.http.post("/v1/sessions"))["id"]
        ok(server.http.post(f"/v1/sessions/{session}/save", json={"prompt": "Hello"}))
    with serving(tmp_path, options={"min_tokens": 500}) as server:
        assert ok(server.http.post(f"/v1/sessions/{session}/load"))["computed_tokens"] == 1


def test_a_damaged_session_is_computed_again(tmp_path: Path) -> None:
    # case 2
    history = asked("When is high tide?")
    with serving(tmp_path) as server:
        control = answer(server, history)
        session = ok(server.http.post("/v1/sessions"))["id"]
        ok(server.http.post(f"/v1/sessions/{session}/save", json={"messages": history}))
    for path in block_files(tmp_path):
        data = bytearray(path.read_bytes())
        data[len(data) * 2 // 3] ^= 0x40
        path.write_bytes(data)
    with serving(tmp_path) as server:
        loaded = ok(server.http.post(f"/v1/sessions/{session}/load"))
        assert loaded["computed_tokens"] == loaded["tokens"]
        for _ in range(5):
            assert answer(server, history) == control


def test_why_a_prompt_was_computed(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        first = asked("It is 10:31. When is high tide?")
        cached_tokens(server, first)
    with serving(tmp_path) as server:
        body = {
            "model": "fake",
            "messages": asked("It is 10:42. When is high tide?"),
            "max_tokens": 4,
            "reame": {"explain": True},
        }
        told = ok(server.http.post("/v1/chat/completions", json=body))["reame"]["plugins"]["diskkv"]
        assert told["in_memory"] == 0
        assert told["stored"] > 50
        assert told["wanted"].startswith("42")
        assert "a date or time" in told["suspects"][0]
        wrong = server.http.post("/v1/chat/completions", json={**body, "reame": {"explain": 1}})
        assert wrong.status_code == 400
        assert wrong.json()["error"]["param"] == "reame.explain"
        plain = ok(server.http.post("/v1/chat/completions", json={**body, "reame": {"explain": False}}))
        assert "diskkv" not in str(plain.get("reame", {}))


def test_metrics(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        cached_tokens(server, asked("When is high tide?"))
    with serving(tmp_path) as server:
        cached_tokens(server, asked("When is high tide?"))
        text = server.http.get("/metrics").text
        assert "reame_diskkv_hits_total 1.0" in text
        assert re.search(r"reame_diskkv_restored_tokens_total \d\d", text)
        assert 'reame_diskkv_failures_total{kind="damaged"} 0.0' in text


def test_without_a_cache_there_are_no_routes(tmp_path: Path) -> None:
    with serving(tmp_path, options={"max_size_mb": 0}) as server:
        assert server.http.post("/v1/warm", json={"prompt": "x"}).status_code == 404
        assert server.http.get("/v1/sessions").status_code == 404


def test_the_routes_are_in_the_schema(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        paths = ok(server.http.get("/schema"))["paths"]
        assert {"/v1/warm", "/v1/sessions", "/v1/sessions/{session_id}/load"} <= paths.keys()
