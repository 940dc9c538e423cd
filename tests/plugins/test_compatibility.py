"""A plugin says which Reame it is made for; one that is made for another is refused in a clear line."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reame_core.errors import PluginError
from reame_core.hookspecs import API_VERSION, OLDEST_API_VERSION, hookimpl
from reame_core.plugins import compatibility
from reame_core.plugins.compatibility import stated_requirement, unfit_api, unfit_requirement
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection


class Plugin:
    @hookimpl
    def shutdown(self) -> None:
        """Nothing to do."""


class Point:
    """An entry point of a distribution with ``requires``."""

    name = "mine"

    def __init__(self, requires: list[str] | None, **attributes: str) -> None:
        self.dist = SimpleNamespace(name="reame-mine", version="1.2", requires=requires)
        self.attributes = attributes
        self.loaded = False

    def load(self) -> Any:
        self.loaded = True
        plugin = Plugin()
        vars(plugin).update(self.attributes)
        return plugin


def manager_of(point: Point, **settings: Any) -> PluginManager:
    return PluginManager(PluginSelection(**settings), entry_points=[point])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("requires", "stated"),
    [
        (None, ""),
        ([], ""),
        (["numpy>=2", "reame<0.3,>=0.1"], "<0.3,>=0.1"),
        (["reame (>=0.1,<0.2)"], ">=0.1,<0.2"),
        (["Reame[demo] ~= 0.1"], "~= 0.1"),
        (["reame"], ""),
        (["reame-diskkv>=9"], ""),
        (["reame>=9 ; extra == 'test'", "reame>=0.1"], ">=0.1"),
        (["reame>=0.1; python_version >= '3.11'"], ">=0.1"),
    ],
)
def test_what_a_distribution_states(requires: list[str] | None, stated: str) -> None:
    assert stated_requirement(requires) == stated


@pytest.mark.parametrize("requirement", ["", "<0.3,>=0.1", "~=0.1.0"])
def test_a_fitting_requirement(requirement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compatibility, "reame_version", lambda: "0.1.3")
    assert unfit_requirement("reame-mine 1.2", requirement) == ""


def test_a_release_candidate_counts_as_its_release_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compatibility, "reame_version", lambda: "0.2.0rc1")
    assert unfit_requirement("x", "<0.3,>=0.1") == ""


def test_a_plugin_made_for_another_reame_is_refused_before_it_is_imported(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compatibility, "reame_version", lambda: "0.1.0")
    point = Point(["reame>=0.2,<0.4"])
    manager = manager_of(point)
    [report] = manager.report()
    assert (report.state, report.requirement) == ("failed", ">=0.2,<0.4")
    assert report.why == (
        "reame-mine 1.2 is made for reame>=0.2,<0.4 and this is Reame 0.1.0: install a version of it that is "
        "made for this one, or the Reame that it wants"
    )
    assert not point.loaded
    assert report.why in caplog.text
    with pytest.raises(PluginError, match=r"made for reame>=0\.2,<0\.4"):
        manager_of(point, strict=True)


def test_a_requirement_that_is_none() -> None:
    assert "no range" in unfit_requirement("reame-mine 1.2", "new enough")


@pytest.mark.parametrize("stated", [None, API_VERSION, OLDEST_API_VERSION])
def test_api_versions_that_fit(stated: str | None) -> None:
    assert unfit_api(stated) == ""


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ("0.99", "upgrade Reame"),
        ("1.0", "upgrade Reame"),
        ("0.0", "use a newer version of the plugin"),
        (1, "must be the version of the plugin API as a text"),
        (0.1, "must be the version of the plugin API as a text"),
        ("0.1.0", "must be the version of the plugin API as a text"),
    ],
)
def test_api_versions_that_do_not_fit(stated: object, why: str) -> None:
    assert why in unfit_api(stated)


def test_versions_are_numbers_not_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compatibility, "API_VERSION", "0.10")
    monkeypatch.setattr(compatibility, "OLDEST_API_VERSION", "0.9")
    assert unfit_api("0.9") == unfit_api("0.10") == ""
    assert unfit_api("0.2")


def test_a_plugin_of_one_file_states_its_api_version(tmp_path: Path) -> None:
    code = "from reame_core.hookspecs import hookimpl\nreame_api = {!r}\n@hookimpl\ndef shutdown(): pass\n"
    (tmp_path / "fits.py").write_text(code.format(API_VERSION))
    (tmp_path / "late.py").write_text(code.format("0.99"))
    fits, late = PluginManager(PluginSelection(folder=tmp_path), entry_points=[]).report()
    assert (fits.state, fits.api) == ("active", API_VERSION)
    assert late.state == "failed"
    assert "upgrade Reame" in late.why


def test_an_object_states_it_as_well(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    assert manager_of(Point(None, reame_api="0.99")).report()[0].state == "failed"


def test_the_version_of_the_api_is_that_of_reame() -> None:
    """Major and minor: a plugin's dependency on reame says the same as its ``reame_api``."""
    assert compatibility.reame_version().startswith(f"{API_VERSION}.")
