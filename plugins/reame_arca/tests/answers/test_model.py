"""Whole answers of a real model, between two real servers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from plugins.reame_arca.tests.fleet import Member, recalled, said
from plugins.reame_arca.tests.real_store import RealStore, wait_until

pytestmark = pytest.mark.model

ASKED: list[dict[str, Any]] = [
    {"text": "Name three fruits."},
    {"text": "Name three fruits.", "logprobs": True, "top_logprobs": 2},
    {"text": "What is a fruit?", "n": 2, "stop": [".", "\n"]},
    {
        "text": "Name a fruit as JSON.",
        "max_tokens": 40,
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "fruit",
                "schema": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "maxLength": 12}, "ripe": {"type": "boolean"}},
                    "required": ["name", "ripe"],
                    "additionalProperties": False,
                },
            },
        },
    },
]


@contextmanager
def served(model: Path, store: RealStore, home: Path) -> Iterator[Member]:
    """``reame serve`` with this plugin and the one for structure."""
    settings = home / "reame.toml"
    settings.write_text(
        f'[plugins]\nonly = ["arca", "suggeritore"]\n[plugins.arca]\nurl = "{store.url}"\ntimeout_ms = 10000\n'
        "[server]\nport = 0\nany_model = true\n[engine]\ntune = false\n[model]\ncontext_length = 1024\n"
    )
    command = [sys.executable, "-m", "reame_core", "serve", str(model), "--config", str(settings)]
    member = Member(command)
    try:
        yield member
    finally:
        member.stop()


def test_the_second_server_says_what_the_first_has_computed(
    reame_tiny_model: Path, store: RealStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAME_HOME", str(tmp_path))
    with served(reame_tiny_model, store, tmp_path) as one:
        computed = [one.chat(**fields) for fields in ASKED]
        assert not any(map(recalled, computed))
        for fields in ASKED:
            wait_until(lambda fields=fields: recalled(one.chat(**fields)))
    with served(reame_tiny_model, store, tmp_path) as two:
        for fields, expected in zip(ASKED, computed, strict=True):
            answer = two.chat(**fields)
            assert recalled(answer)
            assert said(answer) == said(expected)
        assert two.metric("reame_generation_tokens_total") == 0
