from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from reame_core.config import Flag, Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Load(Protocol):
    def __call__(
        self,
        toml: str | None = None,
        *,
        flags: list[Flag] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Settings: ...


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "reame.toml"


@pytest.fixture
def load(file: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Settings from these sources alone, whatever the machine has."""
    (file.parent / "elsewhere").mkdir()
    monkeypatch.chdir(file.parent / "elsewhere")

    def load(
        toml: str | None = None,
        *,
        flags: list[Flag] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Settings:
        if toml is not None:
            file.write_text(toml, encoding="utf-8")
        alone = {"REAME_HOME": str(file.parent / "home"), **(environment or {})}
        return load_settings(
            flags or [], config_file=str(file) if toml is not None else None, environment=alone
        )

    return load
