"""Where Reame keeps its files. Nothing is created here: whoever writes creates, and only what it needs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Directories:
    config: Path
    """Holds ``reame.toml``."""
    models: Path
    """Downloaded models. Large, and meant to be looked at by people, so not in a hidden place of the platform's
    but in ``~/.reame/models``."""
    state: Path
    """What must survive: archives, sessions."""
    cache: Path
    """What can be made again: KV blocks, calibrations."""


def directories(environment: Mapping[str, str] | None = None) -> Directories:
    """The user's directories for this platform, or all of them below ``REAME_HOME``."""
    environment = os.environ if environment is None else environment
    if home := environment.get("REAME_HOME"):
        base = Path(os.path.abspath(os.path.expanduser(home)))  # noqa: PTH100, PTH111 (never raise)
        return Directories(config=base, models=base / "models", state=base / "state", cache=base / "cache")

    from platformdirs import PlatformDirs

    user = PlatformDirs("reame", appauthor=False)
    return Directories(
        config=Path(user.user_config_dir),
        models=Path(os.path.expanduser("~")) / ".reame" / "models",  # noqa: PTH111 (never raises)
        state=Path(user.user_state_dir),
        cache=Path(user.user_cache_dir),
    )
