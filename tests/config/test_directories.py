from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reame_core.config import Directories, directories, load_settings

if TYPE_CHECKING:
    import pytest


def test_reame_home_holds_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    base = tmp_path / "ü dir with space"
    expected = Directories(config=base, models=base / "models", state=base / "state", cache=base / "cache")
    assert directories({"REAME_HOME": str(base)}) == expected
    assert directories({"REAME_HOME": base.name}) == expected
    assert not base.exists()


def test_without_it_they_are_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    assert directories({}) == Directories(
        config=Path("/home/ada/.config/reame"),
        models=Path("/home/ada/.reame/models"),
        state=Path("/home/ada/.local/state/reame"),
        cache=Path("/home/ada/.cache/reame"),
    )


def test_a_home_that_cannot_be_used_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for home in ("/proc/none", "/dev/null", ""):
        monkeypatch.setenv("HOME", home)
        assert load_settings(environment={"HOME": home}).file is None
    monkeypatch.delenv("HOME")
    load_settings(environment={})
