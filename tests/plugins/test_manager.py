from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from reame_core.engine.hooks import EngineHooks
from reame_core.errors import PluginError
from reame_core.hookspecs import hookimpl
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection


class Answers:
    """Answers ``value`` at ``propose_draft``."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    @hookimpl
    def propose_draft(self, sequence: Any) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


class First(Answers):
    @hookimpl(tryfirst=True)
    def propose_draft(self, sequence: Any) -> Any:
        return self.value


class Last(Answers):
    @hookimpl(trylast=True)
    def propose_draft(self, sequence: Any) -> Any:
        return self.value


class Misspelt:
    @hookimpl
    def on_prefil(self) -> None: ...


class DefaultValue:
    @hookimpl
    def propose_draft(self, limit: int = 4) -> None: ...


class Wrapper:
    @hookimpl(wrapper=True)
    def persist(self) -> Any:
        yield


def test_without_plugins_there_is_nothing_to_call() -> None:
    hooks = PluginManager(entry_points=[]).engine_hooks()
    assert hooks == EngineHooks()
    assert not any((hooks.on_prefill, hooks.propose_draft, hooks.verify, hooks.select_winner, hooks.persist))


def test_each_engine_hook_is_the_hook_of_its_name(manager_of: Any) -> None:
    class Everything:
        @hookimpl
        def on_prefill(self, kv: Any) -> Any:
            return "on_prefill", kv

        @hookimpl
        def propose_draft(self, limit: Any) -> Any:
            return "propose_draft", limit

        @hookimpl
        def verify(self, chooser: Any, draft: Any) -> Any:
            return "verify", chooser, draft

        @hookimpl
        def select_winner(self, group: Any) -> Any:
            return "select_winner", group

        @hookimpl
        def persist(self, sequence: Any, kv: Any, stage: Any) -> Any:
            return "persist", sequence, kv, stage

    hooks = manager_of(all=Everything()).engine_hooks()
    assert hooks.on_prefill.first(1, 2) == ("all", ("on_prefill", 2))
    assert hooks.propose_draft.first(1, 2) == ("all", ("propose_draft", 2))
    assert hooks.verify.first(1, 2, 3, 4) == ("all", ("verify", 4, 2))
    assert hooks.select_winner.first(1) == ("all", ("select_winner", 1))
    assert hooks.persist.first(1, 2, 3) == ("all", ("persist", 1, 2, 3))


def test_zero_is_an_answer_and_none_is_not(manager_of: Any) -> None:
    hook = manager_of(a=Answers(None), b=Answers(0), c=Answers(7)).hook("propose_draft")
    assert hook.first(None, 1) == ("b", 0)


def test_tryfirst_and_trylast_and_within_them_plugin_order(manager_of: Any) -> None:
    manager = manager_of(
        a=Last(), b=Answers(), c=First(), d=Last(), e=Answers(), f=First(), order=("f", "e", "d"),
        builtins=(("core", Last()),),
    )  # fmt: skip
    assert [name for name, _ in manager.hook("propose_draft").calls] == ["f", "c", "e", "b", "d", "a", "core"]


def test_one_failing_plugin_leaves_the_answers_of_others(manager_of: Any, caplog: Any) -> None:
    manager = manager_of(a=Answers(ValueError("boom")), b=Answers("b"))
    assert manager.hook("propose_draft").first(None, 1) == ("b", "b")
    assert manager.error_counts() == {("a", "propose_draft"): 1, ("b", "propose_draft"): 0}
    assert [each.errors for each in manager.report()] == [1, 0]
    assert "plugin 'a' failed in hook 'propose_draft'" in caplog.text


def test_a_hook_that_keeps_failing_is_switched_off_and_reported(manager_of: Any) -> None:
    class HalfBroken(Answers):
        @hookimpl
        def persist(self, stage: Any) -> Any:
            return stage

    manager = manager_of(a=HalfBroken(ValueError("boom")))
    hooks = manager.engine_hooks()
    for _ in range(5):
        hooks.propose_draft.all(None, 1)
    [report] = manager.report()
    assert report.state == "switched off"
    assert report.why == "propose_draft: 3 failures in a row, the last: ValueError: boom"
    assert (report.errors, report.hooks) == (3, ("persist",))
    assert hooks.persist.first(None, None, "end") == ("a", "end")
    assert not manager.hook("propose_draft")


def test_a_built_in_hook_is_never_switched_off(manager_of: Any) -> None:
    core = Answers(ValueError("boom"))
    hook = manager_of(builtins=(("core", core),)).hook("propose_draft")
    for _ in range(10):
        assert hook.first(None, 1) is None
    core.value = "well again"
    assert hook.first(None, 1) == ("core", "well again")


BROKEN = [
    (ImportError("no module named 'x'"), "ImportError: no module named 'x'"),
    (SystemExit("give me a GPU"), "SystemExit: give me a GPU"),
    (Misspelt(), "'on_prefil' is no hook of Reame; did you mean 'on_prefill'?"),
    (
        DefaultValue(),
        "hook 'propose_draft': argument 'limit' has a default value and would never be passed, "
        "remove the default",
    ),
    (Wrapper(), "hook 'persist': hook wrappers are not possible, implement the hook itself"),
    (SimpleNamespace(), "it has no hooks, mark its functions with @hookimpl from reame_core.hookspecs"),
]


@pytest.mark.parametrize(("broken", "why"), BROKEN)
def test_an_unusable_plugin_is_named_and_skipped(manager_of: Any, caplog: Any, broken: Any, why: str) -> None:
    manager = manager_of(bad=broken, good=Answers("good"))
    bad, good = manager.report()
    assert (bad.state, bad.why, bad.hooks, bad.errors) == ("failed", why, (), 0)
    assert good.state == "active"
    assert manager.hook("propose_draft").first(None, 1) == ("good", "good")
    assert [each.name for each in manager.report() if each.hooks] == ["good"]
    [message] = [record.getMessage() for record in caplog.records]
    assert message == f"plugin 'bad' (reame-bad 1.2) is not used: {why}"


@pytest.mark.parametrize(("broken", "why"), BROKEN)
def test_strict_refuses_an_unusable_plugin(manager_of: Any, broken: Any, why: str) -> None:
    with pytest.raises(PluginError) as caught:
        manager_of(bad=broken, good=Answers(), strict=True)
    assert str(caught.value).startswith(f"plugin 'bad' (reame-bad 1.2) cannot be used: {why}")
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is (broken if isinstance(broken, BaseException) else None)


def test_strict_does_not_mind_a_broken_plugin_that_is_disabled(manager_of: Any) -> None:
    manager = manager_of(bad=ImportError("no"), good=Answers("good"), disable=("bad",), strict=True)
    assert manager.hook("propose_draft").first(None, 1) == ("good", "good")


def test_interrupting_a_slow_import_interrupts(manager_of: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        manager_of(slow=KeyboardInterrupt())


def test_a_broken_built_in_plugin_is_our_own_fault(manager_of: Any) -> None:
    with pytest.raises(
        PluginError, match="plugin 'core' \\(built in\\) cannot be used: 'on_prefil' is no hook"
    ):
        manager_of(builtins=(("core", Misspelt()),))


def test_two_plugins_of_one_name(entry_point: Any) -> None:
    def points() -> list[Any]:
        return [entry_point("a_b", Answers("second"), "z-dist"), entry_point("a-b", Answers("first"), "b-dist")]

    manager = PluginManager(entry_points=points())
    assert [(each.distribution, each.state) for each in manager.report()] == [
        ("b-dist", "active"),
        ("z-dist", "failed"),
    ]
    assert manager.report()[1].why == "the name 'a_b' is taken by b-dist 1.2, disable or rename one of them"
    assert manager.hook("propose_draft").first(None, 1) == ("a-b", "first")

    manager = PluginManager(PluginSelection(disable=("b-dist",), strict=True), entry_points=points())
    assert manager.hook("propose_draft").first(None, 1) == ("a_b", "second")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Core", "the name 'Core' is taken by Reame itself, disable or rename one of them"),
        ("order", "the name 'order' is that of the setting plugins.order, rename it"),
    ],
)
def test_names_that_no_plugin_may_have(entry_point: Any, name: str, why: str) -> None:
    point = entry_point(name, Answers())
    manager = PluginManager(builtins=(("core", Answers()),), entry_points=[point])
    assert (manager.report()[0].state, manager.report()[0].why) == ("failed", why)
    assert point.loads == []


def test_one_object_under_two_names(manager_of: Any) -> None:
    plugin = Answers()
    manager = manager_of(a=plugin, b=plugin)
    assert [each.why for each in manager.report()] == ["", "it is the same object as plugin 'a'"]


def test_the_report_knows_everything_about_a_plugin(manager_of: Any) -> None:
    [report] = manager_of(a=Answers()).report()
    assert (report.name, report.distribution, report.version) == ("a", "reame-a", "1.2")
    assert (report.source, report.state, report.why, report.errors) == ("entry point", "active", "", 0)
    assert report.hooks == ("propose_draft",)


@pytest.mark.parametrize(("value", "traced"), [("1", True), ("0", False), ("", False), (None, False)])
def test_tracing_is_asked_for_by_environment(
    manager_of: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any, value: str | None, traced: bool
) -> None:
    monkeypatch.delenv("REAME_TRACE_PLUGINS", raising=False)
    if value is not None:
        monkeypatch.setenv("REAME_TRACE_PLUGINS", value)
    caplog.set_level(logging.INFO)
    assert manager_of(a=Answers("x")).hook("propose_draft").first(None, 1) == ("a", "x")
    assert [record.name for record in caplog.records] == ["reame.plugins.trace"] * traced
    assert caplog.text.count("propose_draft of a: ") == traced


def test_without_tracing_a_full_signature_is_called_without_detour() -> None:
    import inspect

    depths: list[int] = []

    class Deep:
        @hookimpl
        def propose_draft(self, sequence: Any, limit: Any) -> None:
            frame = inspect.currentframe()
            while frame:
                depths[-1] += 1
                frame = frame.f_back

    for trace in (False, True):
        depths.append(0)
        entry_points: Any = [SimpleNamespace(name="a", dist=None, load=Deep)]
        PluginManager(entry_points=entry_points, trace=trace).hook("propose_draft").calls[0][1](None, 1)
    assert depths[1] == depths[0] + 1
