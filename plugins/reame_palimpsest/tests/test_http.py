"""The archive behind the HTTP server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reame_palimpsest.archive_plugin import ArchivePlugin

from plugins.reame_palimpsest.tests.support import Plugins
from reame_core.engine.verification import CoreVerifier
from reame_core.plugins.manager import PluginManager
from reame_core.testing import FakeBackend
from tests.server.support import FakeModel, Running, running, settings_with

LONG = {"max_tokens": 60, "ignore_eos": True, "temperature": 0}


class Served:
    """A server with an archive."""

    def __init__(self, server: Running, plugins: Plugins) -> None:
        self.server = server
        self.plugins = plugins

    def proposed(self, text: str = "hello", key: str | None = None, **fields: Any) -> bool:
        """Whether anything was proposed while ``text`` was answered. (Whether it was worth its rows depends on
        the clock.)"""
        before = self._tokens_proposed()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        body = {"model": "fake", "messages": [{"role": "user", "content": text}], **LONG, **fields}
        response = self.server.http.post("/v1/chat/completions", json=body, headers=headers)
        assert response.status_code == 200, response.text
        self.plugins.flush()
        return self._tokens_proposed() > before

    def _tokens_proposed(self) -> int:
        totals = self.server.model.worker.engine.records.totals
        return totals["palimpsest"].proposed if "palimpsest" in totals else 0


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    backend = FakeBackend(cells=2048)
    plugins = Plugins(tmp_path, backend)
    builtins: tuple[tuple[str, ArchivePlugin | CoreVerifier], ...] = (
        ("palimpsest", plugins.archive),
        ("core", CoreVerifier()),
    )
    model = FakeModel(backend, PluginManager(builtins=builtins, entry_points=[]))
    with running(model, settings_with(**getattr(request, "param", {}))) as server:
        yield Served(server, plugins)
    plugins.close()


def test_the_same_request_again(served: Served) -> None:
    assert [served.proposed() for _ in range(2)] == [False, True]
    assert served.server.metric("reame_palimpsest_answers_total", outcome="stored") == 1
    assert served.server.metric("reame_palimpsest_tokens") > 60


def test_a_request_that_stays_out(served: Served) -> None:
    for _ in range(2):
        assert not served.proposed(reame={"palimpsest": {"archive": False}})
    assert not served.proposed()
    assert not served.proposed(reame={"palimpsest": False})
    assert served.proposed()


def test_a_wrong_wish_is_a_400(served: Served) -> None:
    response = served.server.chat("hi", reame={"palimpsest": {"archive": "no"}})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "reame.palimpsest.archive"


@pytest.mark.parametrize("served", [{"api_key": ("a:one", "b:two"), "isolate_keys": True}], indirect=True)
def test_keys_do_not_share_what_was_said(served: Served) -> None:
    assert [served.proposed(key=key) for key in ("one", "two", "one", "two")] == [False, False, True, True]


def test_decisions_about_drafts_are_told_in_the_response_and_in_the_metrics(served: Served) -> None:
    body = {"messages": [{"role": "user", "content": "hello"}], **LONG}
    for again in (False, True):
        response = served.server.http.post("/v1/chat/completions", json={"model": "fake", **body})
        served.plugins.flush()
        decided = response.json()["reame"]["speculation"]["decisions"]["palimpsest"]
        assert decided["asked"] > 0
        assert decided["ms"] > 0
        assert (decided["paid"] + decided["unpaid"] > 0) == again
    given, none = (
        served.server.metric("reame_spec_decode_num_drafts_total", source="palimpsest", rows=rows)
        for rows in ("given", "none")
    )
    assert given + none == decided["paid"] + decided["unpaid"]
    assert served.server.metric("reame_spec_decode_asking_seconds_total", source="palimpsest") > 0
    assert served.server.metric("reame_batch_cost_seconds", rows="1") > 0
    off = served.server.chat("hello", reame={"speculation": False}).json()["reame"]["speculation"]
    assert "decisions" not in off
