from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from reame_core.errors import PluginError
from reame_core.hookspecs import hookimpl
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection


class Drafter:
    @hookimpl
    def propose_draft(self, sequence: Any) -> Any: ...


def asked(manager: PluginManager) -> list[str]:
    return [name for name, _ in manager.hook("propose_draft").calls]


def make(manager_of: Callable[..., PluginManager], names: str = "abc", **settings: Any) -> PluginManager:
    return manager_of(**{name: Drafter() for name in names}, **settings)


def test_without_settings_all_are_asked_alphabetically(manager_of: Any) -> None:
    for names in permutations("abc"):
        assert asked(make(manager_of, "".join(names))) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (("c",), ["c", "a", "b"]),
        (("c", "b"), ["c", "b", "a"]),
        (("reame-b",), ["b", "a", "c"]),
        (("c", "a", "c"), ["c", "a", "b"]),
    ],
)
def test_named_plugins_are_asked_first(manager_of: Any, order: tuple[str, ...], expected: list[str]) -> None:
    for names in permutations("abc"):
        manager = make(manager_of, "".join(names), order=order)
        assert asked(manager) == expected
        assert [each.name for each in manager.report()] == expected


def test_only_the_named_ones(manager_of: Any) -> None:
    manager = make(manager_of, only=("c", "reame_a"))
    assert asked(manager) == ["a", "c"]
    assert [each.state for each in manager.report()] == ["active", "disabled", "active"]
    assert manager.report()[1].why == "not among the plugins asked for"


def test_an_empty_list_is_none_at_all(manager_of: Any) -> None:
    assert asked(make(manager_of, only=())) == []


def test_disable_wins_over_only(manager_of: Any) -> None:
    assert asked(make(manager_of, only=("a", "b"), disable=("A",))) == ["b"]


def test_order_does_not_enable(manager_of: Any) -> None:
    assert asked(make(manager_of, disable=("b",), order=("b",))) == ["a", "c"]


@pytest.mark.parametrize("settings", [{"disable": ("b",)}, {"only": ("a",)}])
def test_what_is_not_chosen_is_not_loaded(entry_point: Any, settings: dict[str, Any]) -> None:
    points = [entry_point("a", Drafter()), entry_point("b", Drafter())]
    PluginManager(PluginSelection(**settings), entry_points=points)
    assert [point.loads for point in points] == [["a"], []]


def test_a_distribution_name_means_all_its_plugins(entry_point: Any) -> None:
    points = [
        entry_point("a", Drafter(), "Pack"),
        entry_point("b", Drafter(), "Pack"),
        entry_point("c", Drafter()),
    ]
    assert asked(PluginManager(PluginSelection(disable=("pack",)), entry_points=points)) == ["c"]


@pytest.mark.parametrize("setting", ["disable", "only", "order"])
def test_an_unknown_name_is_answered_with_the_nearest(manager_of: Any, setting: str) -> None:
    with pytest.raises(PluginError) as caught:
        manager_of(diskkv=Drafter(), conclave=Drafter(), **{setting: ("Diskv",)})
    assert str(caught.value) == (
        "no plugin is named 'Diskv'; did you mean 'diskkv'? (installed plugins: conclave, diskkv)"
    )


def test_a_distribution_name_may_be_the_nearest(manager_of: Any) -> None:
    with pytest.raises(PluginError, match=r"named 'reame-diskv'; did you mean 'reame-diskkv'\?"):
        manager_of(diskkv=Drafter(), disable=("reame-diskv",))


def test_a_name_like_no_other(manager_of: Any) -> None:
    with pytest.raises(PluginError) as caught:
        manager_of(disable=("xyzzy",))
    assert str(caught.value) == "no plugin is named 'xyzzy' (installed plugins: none)"


def test_known_names_hold_disabled_and_failed_plugins_but_no_built_in_ones(manager_of: Any) -> None:
    manager = manager_of(
        builtins=(("core", Drafter()),), b=Drafter(), a=ImportError("no"), c=Drafter(), disable=("c",)
    )
    assert manager.known_names() == ("a", "b", "c")


def test_tables_belong_to_installed_plugins(manager_of: Any) -> None:
    manager = manager_of(a=Drafter(), b=Drafter(), disk_kv=Drafter(), disable=("a",))
    assert manager.check_tables([]) == {}
    assert manager.check_tables(["b", "a", "Disk-KV"]) == {"b": "b", "a": "a", "Disk-KV": "disk_kv"}
    assert manager.check_tables(["reame-disk-kv"]) == {"reame-disk-kv": "disk_kv"}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("diskv", "no plugin is named 'diskv'; did you mean 'diskkv'? (installed plugins: diskkv)"),
        ("reame-diskkv", "[plugins.diskkv] and [plugins.reame-diskkv] are one plugin's: keep one of them"),
        ("core", "plugin 'core' is built in, it cannot have a table of options"),
    ],
)
def test_a_table_nobody_would_read_is_an_error(manager_of: Any, table: str, message: str) -> None:
    manager = manager_of(diskkv=Drafter(), builtins=(("core", Drafter()),))
    with pytest.raises(PluginError) as caught:
        manager.check_tables(["diskkv", table])
    assert str(caught.value) == message


def test_a_table_for_a_distribution_of_several_plugins_is_an_error(entry_point: Any) -> None:
    points = [entry_point(name, Drafter(), "pack") for name in "ab"]
    with pytest.raises(PluginError, match=r"\[plugins\.pack\] could be for several plugins: a, b"):
        PluginManager(entry_points=points).check_tables(["pack"])


def test_of_two_plugins_of_one_name_the_loaded_one_gets_the_table(entry_point: Any) -> None:
    points = [entry_point("a-b", Drafter(), "one"), entry_point("a_b", Drafter(), "two")]
    assert PluginManager(entry_points=points).check_tables(["A_B"]) == {"A_B": "a-b"}
    selection = PluginSelection(disable=("one",))
    assert PluginManager(selection, entry_points=points).check_tables(["a-b"]) == {"a-b": "a_b"}


@pytest.mark.parametrize(("setting", "verb"), [("disable", "disabled"), ("order", "reordered")])
def test_built_in_plugins_cannot_be_chosen_about(manager_of: Any, setting: str, verb: str) -> None:
    with pytest.raises(PluginError, match=f"'core' is built in, it cannot be {verb}"):
        manager_of(builtins=(("core", Drafter()),), **{setting: ("core",)})


@pytest.mark.parametrize("only", [(), ("core",), ("a",)])
def test_built_in_plugins_are_there_whatever_is_chosen(manager_of: Any, only: tuple[str, ...]) -> None:
    manager = make(manager_of, "ab", builtins=(("core", Drafter()),), only=only)
    assert asked(manager)[-1] == "core"
    report = manager.report()[-1]
    assert (report.name, report.source, report.state) == ("core", "built in", "active")
