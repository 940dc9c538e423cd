"""A file of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reame_core.models.wording import printable


@dataclass(frozen=True, slots=True)
class LocalSource:
    path: Path

    @property
    def reference(self) -> str:
        return str(self.path)

    def file(self) -> Path | None:
        try:
            return self.path if self.path.exists() else None
        except OSError:
            return None

    @property
    def remedy(self) -> str:
        return f"put it at {printable(self.path)}"
