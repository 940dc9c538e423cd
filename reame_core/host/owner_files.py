"""Files that only their owner can read, replaced in one step."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Make ``text`` the content of ``path``: all of it or, where that fails, none, whoever reads meanwhile.
    ``durable`` waits until it would survive a loss of power. The folder must exist. Raises OSError."""
    # mkstemp makes the file readable by its owner only
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
