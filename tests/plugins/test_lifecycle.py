from __future__ import annotations

from typing import Any

import pytest

from reame_core.engine.backend import ModelInfo
from reame_core.errors import ConfigError, PluginError
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import PluginContext

MODEL = ModelInfo("m", vocabulary_size=8, trained_context=8, kv_cells=8, max_sequences=1, max_rows=8)


def context_for(name: str) -> PluginContext:
    return PluginContext(MODEL, options={"owner": name})


class Recorder:
    """Writes into ``log`` what happens to it, and raises when told to."""

    def __init__(
        self, log: list[Any], *, failing: BaseException | None = None, ends_badly: bool = False
    ) -> None:
        self.log = log
        self.failing = failing
        self.ends_badly = ends_badly

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        self.log.append(("startup", context.options["owner"]))
        if self.failing:
            raise self.failing

    @hookimpl
    def persist(self) -> None:
        self.log.append("persist")

    @hookimpl
    def shutdown(self) -> None:
        self.log.append("shutdown")
        if self.ends_badly:
            raise OSError("disk full")


class OnlyShutdown:
    def __init__(self, log: list[Any]) -> None:
        self.log = log

    @hookimpl
    def shutdown(self) -> None:
        self.log.append("quiet one shut down")


def test_hook_startup_gives_each_plugin_its_own_context(manager_of: Any) -> None:
    log: list[Any] = []
    manager = manager_of(a=Recorder(log), b=Recorder(log), order=("b",))
    manager.startup(context_for)
    assert log == [("startup", "b"), ("startup", "a")]


def test_hook_startup_that_fails_disables_the_whole_plugin(manager_of: Any, caplog: Any) -> None:
    log: list[Any] = []
    manager = manager_of(a=Recorder(log, failing=OSError("no disk")), b=Recorder(log))
    early = manager.engine_hooks()
    manager.startup(context_for)

    report = manager.report()[0]
    assert (report.state, report.why) == ("failed", "startup: OSError: no disk")
    assert (report.hooks, report.errors) == ((), 1)
    assert manager.error_counts()["a", "startup"] == 1
    [record] = caplog.records
    assert record.getMessage() == "plugin 'a' (reame-a 1.2) is not used: startup: OSError: no disk"
    assert record.exc_info

    log.clear()
    early.persist.all(None, None, None)
    assert log == ["persist"]
    assert [name for name, _ in manager.engine_hooks().persist.calls] == ["b"]
    manager.shutdown()
    assert log == ["persist", "shutdown"]


def test_hook_startup_that_fails_is_an_error_when_strict(manager_of: Any) -> None:
    log: list[Any] = []
    failing = Recorder([], failing=OSError("no disk"))
    manager = manager_of(a=Recorder(log), b=failing, c=Recorder(log), strict=True)
    with pytest.raises(PluginError, match=r"plugin 'b' .* cannot be used: startup: OSError: no disk") as caught:
        manager.startup(context_for)
    assert isinstance(caught.value.__cause__, OSError)
    assert log == [("startup", "a"), "shutdown"]
    assert failing.log == [("startup", "b")]


@pytest.mark.parametrize("order", ["first", "second"])
def test_a_plugin_with_two_startup_hooks_needs_both(manager_of: Any, order: str) -> None:
    log: list[str] = []

    class Twice(OnlyShutdown):
        def _start(self, which: str) -> None:
            log.append(which)
            if len(log) == ("first", "second").index(order) + 1:
                raise OSError("no disk")

        @hookimpl(specname="startup")
        def one(self) -> None:
            self._start("one")

        @hookimpl(specname="startup")
        def two(self) -> None:
            self._start("two")

    manager = manager_of(a=Twice(log))
    manager.startup(context_for)
    assert len(log) == (1 if order == "first" else 2)
    manager.shutdown()
    assert "quiet one shut down" not in log
    assert manager.report()[0].state == "failed"


def test_a_usage_error_needs_no_traceback(manager_of: Any, caplog: Any) -> None:
    manager_of(a=Recorder([], failing=PluginError("it needs another plugin"))).startup(context_for)
    [record] = caplog.records
    assert not record.exc_info
    assert "it needs another plugin" in record.getMessage()


def test_hook_startup_with_a_wrong_setting_is_an_error_strict_or_not(manager_of: Any, caplog: Any) -> None:
    log: list[Any] = []
    wrong = ConfigError("plugins.b.size must be positive")
    manager = manager_of(a=Recorder(log), b=Recorder([], failing=wrong))
    with pytest.raises(ConfigError, match=r"^plugins\.b\.size must be positive$"):
        manager.startup(context_for)
    assert log == [("startup", "a"), "shutdown"]
    assert not caplog.records


def test_a_built_in_plugin_that_cannot_start_is_an_error(manager_of: Any) -> None:
    manager = manager_of(builtins=(("core", Recorder([], failing=OSError("no"))),))
    with pytest.raises(PluginError, match="core"):
        manager.startup(context_for)


def test_hook_shutdown_comes_in_reverse_order_and_once(manager_of: Any) -> None:
    logs: list[Any] = []

    class Named(Recorder):
        @hookimpl
        def shutdown(self) -> None:
            logs.append(self.log[0][1])

    manager = manager_of(a=Named([]), b=Named([]), c=Named([]))
    manager.startup(context_for)
    manager.shutdown()
    manager.shutdown()
    assert logs == ["c", "b", "a"]


def test_hook_shutdown_that_fails_does_not_stop_the_others(manager_of: Any, caplog: Any) -> None:
    log: list[Any] = []
    manager = manager_of(a=Recorder(log), b=Recorder(log, ends_badly=True))
    manager.startup(context_for)
    manager.shutdown()
    assert log[-2:] == ["shutdown", "shutdown"]
    assert "plugin 'b' failed in hook 'shutdown' and was skipped: OSError: disk full" in caplog.text


def test_hook_shutdown_is_for_those_that_were_started(manager_of: Any) -> None:
    log: list[Any] = []
    manager = manager_of(
        a=Recorder(log), b=Recorder(log, failing=KeyboardInterrupt()), c=Recorder(log), d=OnlyShutdown(log)
    )
    manager.shutdown()
    assert log == []
    with pytest.raises(KeyboardInterrupt):
        manager.startup(context_for)
    log.clear()
    manager.shutdown()
    assert log == ["quiet one shut down", "shutdown"]


def test_a_second_engine_may_use_the_same_plugins(manager_of: Any) -> None:
    log: list[Any] = []
    manager = manager_of(a=Recorder(log))
    for _ in range(2):
        manager.startup(context_for)
        manager.shutdown()
    assert log == [("startup", "a"), "shutdown"] * 2


def test_only_plugins_with_a_startup_hook_need_a_context(manager_of: Any) -> None:
    asked: list[str] = []

    def context_for_once(name: str) -> PluginContext:
        asked.append(name)
        return context_for(name)

    manager_of(a=Recorder([]), b=OnlyShutdown([])).startup(context_for_once)
    assert asked == ["a"]
