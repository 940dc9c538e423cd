"""A file that an installed Python package carries. The package is found, never imported."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PackageSource:
    module: str
    pattern: str
    """Of the file, below the package's folder."""
    install: str | None = None
    """The command that installs the package."""

    @property
    def reference(self) -> str:
        return f"package:{self.module}:{self.pattern}"

    def file(self) -> Path | None:
        try:
            found = importlib.util.find_spec(self.module)
        except (ImportError, ValueError):
            return None
        folders = found.submodule_search_locations if found else None
        files = (path for folder in folders or () for path in sorted(Path(folder).glob(self.pattern)))
        return next(files, None)

    @property
    def remedy(self) -> str:
        return f"install it with {self.install or f'pip install {self.distribution}'}"

    @property
    def distribution(self) -> str:
        """What the package is probably called where it is installed from."""
        return self.module.partition(".")[0].replace("_", "-")
