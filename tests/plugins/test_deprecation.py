"""What is deprecated works, and whoever uses it is told once: plugin, hook, what to use instead, until when."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pluggy
import pytest

from reame_core import hookspecs
from reame_core.hookspecs import API_VERSION, hookimpl, hookspec
from reame_core.plugins import forms, guard
from reame_core.plugins.forms import hook_arguments, lifetimes
from reame_core.plugins.lifetimes import Deprecation
from reame_core.plugins.manager import PluginManager

ROOT = Path(__file__).parents[2]
GOING = Deprecation("0.2", "0.4", "persist")


@pytest.fixture
def _deprecated_hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    @hookspec(since="0.1", deprecated=GOING)
    def shutdown() -> None:
        """Going."""

    @hookspec(since="0.1", deprecated_arguments={"kv": Deprecation("0.2", "0.3", "sequence.computed")})
    def persist(sequence: Any, kv: Any, stage: Any) -> None:
        """``kv`` is going."""

    monkeypatch.setattr(hookspecs, "shutdown", shutdown)
    monkeypatch.setattr(hookspecs, "persist", persist)
    monkeypatch.setattr(guard, "_announced", set())
    hook_arguments.cache_clear()
    lifetimes.cache_clear()
    yield
    monkeypatch.undo()
    hook_arguments.cache_clear()
    lifetimes.cache_clear()


class Old:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    @hookimpl
    def shutdown(self) -> None:
        self.calls.append("shutdown")

    @hookimpl
    def persist(self, kv: Any, stage: Any) -> None:
        self.calls.append((kv, stage))


class New:
    @hookimpl
    def persist(self, sequence: Any) -> None:
        """Takes nothing that is going."""


@pytest.mark.usefixtures("_deprecated_hooks")
def test_whoever_uses_it_is_named_once_and_goes_on(
    manager_of: Callable[..., PluginManager], caplog: pytest.LogCaptureFixture
) -> None:
    old = Old()
    for _ in range(2):
        manager = manager_of(old=old, new=New())
    who = "plugin 'old' (reame-old 1.2)"
    assert sorted(record.getMessage() for record in caplog.records) == [
        f"{who}: argument 'kv' of hook 'persist' is deprecated since 0.2 and goes in 0.3: use "
        "sequence.computed instead",
        f"{who}: hook 'shutdown' is deprecated since 0.2 and goes in 0.4: use persist instead",
    ]
    reports = {report.name: report for report in manager.report()}
    assert len(reports["old"].deprecated) == 2
    assert reports["new"].deprecated == ()
    manager.hook("persist").all("sequence", "kv", "stage")
    assert old.calls == [("kv", "stage")]


@pytest.mark.parametrize("hook", hook_arguments())
def test_every_hook_says_since_when(hook: str) -> None:
    lifetime = lifetimes()[hook]
    assert re.fullmatch(r"\d+\.\d+", lifetime.since)
    page = (ROOT / "docs" / "hooks.md").read_text("utf-8")
    section = re.search(rf"^### {hook}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert f"\n- **Since**: {lifetime.since}\n" in section[1]
    going = [*filter(None, [lifetime.deprecated]), *lifetime.arguments.values()]
    assert ("\n- **Deprecated**" in section[1]) == bool(going)


def test_what_is_announced_goes_later_and_nothing_stays_beyond_its_time() -> None:
    key = forms_key
    for hook, lifetime in lifetimes().items():
        assert set(lifetime.arguments) <= set(hook_arguments()[hook])
        for each in [*filter(None, [lifetime.deprecated]), *lifetime.arguments.values()]:
            assert key(lifetime.since) <= key(each.since) < key(each.removed)
            assert key(API_VERSION) < key(each.removed), f"{hook}: its time is over"


def forms_key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_the_markers_are_pluggys() -> None:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    options = manager.parse_hookspec_opts(hookspecs, "verify")
    assert options is not None
    assert options["firstresult"]
    assert forms.lifetimes()["verify"].since == "0.1"
