from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from reame_core.errors import PluginError
from reame_core.plugins.discovery import discover
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection

A_PLUGIN = """
from reame_core.hookspecs import hookimpl

@hookimpl
def propose_draft(sequence, limit):
    return "drafted by " + __name__
"""


def install(site: Path, distribution: str, version: str, entry_points: str) -> None:
    info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "site"
    path.mkdir()
    monkeypatch.syspath_prepend(path)
    importlib.invalidate_caches()
    return path


def test_an_installed_distribution_is_found_and_loaded(site: Path) -> None:
    (site / "fake_reame_parrot.py").write_text(A_PLUGIN)
    install(site, "reame-parrot", "3.1", "[reame]\nparrot = fake_reame_parrot\n")

    manager = PluginManager(PluginSelection(only=("parrot",)))

    [report] = [each for each in manager.report() if each.name == "parrot"]
    assert (report.distribution, report.version) == ("reame-parrot", "3.1")
    assert (report.source, report.state, report.why) == ("entry point", "active", "")
    assert report.hooks == ("propose_draft",)
    assert manager.hook("propose_draft").first(None, 1) == ("parrot", "drafted by fake_reame_parrot")


@pytest.mark.parametrize("name", ["parrot", "reame-parrot", "Reame_Parrot"])
def test_a_disabled_distribution_is_not_imported(site: Path, name: str) -> None:
    (site / "fake_reame_parrot.py").write_text("raise AssertionError('imported')")
    install(site, "reame-parrot", "3.1", "[reame]\nparrot = fake_reame_parrot\n")

    manager = PluginManager(PluginSelection(disable=(name,), strict=True))

    assert "fake_reame_parrot" not in sys.modules
    [report] = [each for each in manager.report() if each.name == "parrot"]
    assert (report.state, report.why, report.hooks) == ("disabled", "disabled by name", ())
    assert (report.distribution, report.version) == ("reame-parrot", "3.1")


def test_damaged_metadata_does_not_hide_a_plugin(site: Path) -> None:
    (site / "fake_reame_parrot.py").write_text(A_PLUGIN)
    install(site, "reame-parrot", "3.1", "[reame]\nparrot = fake_reame_parrot\n")
    (site / "reame_parrot-3.1.dist-info" / "METADATA").unlink()
    [report] = [
        each for each in PluginManager(PluginSelection(only=("parrot",))).report() if each.name == "parrot"
    ]
    assert (report.state, report.hooks) == ("active", ("propose_draft",))
    assert (report.distribution, report.version) == (None, None)


def test_a_damaged_metadata_reader_does_not_hide_a_plugin() -> None:
    class Damaged:
        name = "parrot"

        @property
        def dist(self) -> Any:
            raise LookupError("no metadata")

        def load(self) -> Any:
            raise NotImplementedError

    [candidate] = discover(None, [Damaged()])  # type: ignore[list-item]
    assert (candidate.name, candidate.distribution) == ("parrot", None)


@pytest.mark.parametrize("target", ["nowhere.at_all", "reame_core:nothing", "not an object", ""])
def test_an_entry_point_to_nowhere_is_a_failed_plugin(site: Path, target: str) -> None:
    install(site, "reame-lost", "1", f"[reame]\nlost = {target}\n")
    [report] = [each for each in PluginManager(PluginSelection(only=("lost",))).report() if each.name == "lost"]
    assert report.state == "failed"
    assert report.why


def test_entry_points_of_other_groups_are_left_alone(site: Path) -> None:
    install(site, "reame-other", "1", "[console_scripts]\nother = nowhere:main\n")
    assert "other" not in PluginManager().known_names()


def test_an_object_in_a_module_may_be_the_plugin(site: Path) -> None:
    (site / "fake_reame_thing.py").write_text(
        "from reame_core.hookspecs import hookimpl\n"
        "class Thing:\n"
        "    word = 'hello'\n"
        "    @hookimpl\n"
        "    def propose_draft(self, limit):\n"
        "        return self.word[:limit]\n"
        "thing = Thing()\n"
    )
    install(site, "reame-thing", "1", "[reame]\nthing = fake_reame_thing:thing\n")
    manager = PluginManager(PluginSelection(only=("thing",), strict=True))
    assert manager.hook("propose_draft").first("a sequence", 4) == ("thing", "hell")


def test_files_of_the_folder_are_plugins_named_by_their_stem(folder: Path) -> None:
    (folder / "parrot.py").write_text(A_PLUGIN)
    (folder / "_helper.py").write_text("raise AssertionError('imported')")
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    (folder / "notes.txt").write_text("no Python")
    (folder / "directory.py").mkdir()

    manager = PluginManager(PluginSelection(folder=folder, strict=True), entry_points=[])

    [report] = manager.report()
    assert (report.name, report.source) == ("parrot", f"file {folder / 'parrot.py'}")
    assert (report.distribution, report.version, report.hooks) == (None, None, ("propose_draft",))
    assert manager.known_names() == ("parrot",)


def test_a_file_plugin_may_hold_dataclasses(folder: Path) -> None:
    (folder / "my-plugin.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from reame_core.hookspecs import hookimpl\n"
        "@dataclass\n"
        "class Thing:\n"
        "    a: int | None = None\n"
        "@hookimpl\n"
        "def shutdown(): ...\n"
    )
    [report] = PluginManager(PluginSelection(folder=folder), entry_points=[]).report()
    assert (report.name, report.state, report.why) == ("my-plugin", "active", "")


def test_a_file_may_hold_an_object_with_the_hooks(folder: Path) -> None:
    (folder / "counting.py").write_text(
        "from reame_core.hookspecs import hookimpl\n"
        "class Counting:\n"
        "    calls = 0\n"
        "    @hookimpl\n"
        "    def propose_draft(self):\n"
        "        self.calls += 1\n"
        "        return self.calls\n"
        "plugin = Counting()\n"
    )
    hook = PluginManager(PluginSelection(folder=folder), entry_points=[]).hook("propose_draft")
    assert [hook.first(None, 1) for _ in range(2)] == [("counting", 1), ("counting", 2)]


def test_a_broken_file_is_named_and_leaves_no_module_behind(folder: Path) -> None:
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "fine.py").write_text(A_PLUGIN)
    manager = PluginManager(PluginSelection(folder=folder), entry_points=[])
    broken, fine = manager.report()
    assert broken.state == "failed"
    assert broken.why.startswith("SyntaxError: ")
    assert "broken.py, line 1" in broken.why
    assert fine.state == "active"
    assert "reame_plugin_file_broken" not in sys.modules


@pytest.mark.parametrize("what", ["missing", "file"])
def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "file":
        path.write_text("")
    with pytest.raises(PluginError, match=rf"plugins\.folder '.*{what}' cannot be read: N"):
        PluginManager(PluginSelection(folder=path), entry_points=[])


def test_the_order_of_discovery_does_not_matter(entry_point: Any, folder: Path) -> None:
    points = [entry_point(name, None) for name in ("b", "C", "a")]
    (folder / "bb.py").write_text("")
    expected = ["a", "b", "bb", "C"]
    assert [each.name for each in discover(folder, points)] == expected
    assert [each.name for each in discover(folder, points[::-1])] == expected
