"""py-spy on a server: an observer in another process, which needs no change of the server and works on
threads."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reame_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

RATE = 100
"""Samples a second: each stops the server for a moment, and more would slow it down."""
_START_S = 1.5


@dataclass(slots=True)
class Recording:
    """``stacks`` is there when the with statement has ended."""

    stacks: str = ""
    seconds: float = 0.0
    """How long was recorded, as the caller says."""


@contextmanager
def recording(pid: int, folder: Path, *, idle: bool) -> Iterator[Recording]:
    """Samples of the threads of ``pid``, with ``idle`` also of those that wait at that moment. Raises
    UsageError where py-spy is missing or may not look."""
    found = shutil.which("py-spy", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if found is None:
        raise UsageError("--profile needs py-spy: pip install 'reame-bench[profile]'")
    output = folder / "stacks.txt"
    spy = subprocess.Popen(
        [
            *(found, "record", "--pid", str(pid), "--rate", str(RATE), "--format", "raw", "--full-filenames"),
            *("--duration", "100000", "--output", str(output), *(["--idle"] if idle else [])),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        time.sleep(_START_S)
        if spy.poll() is not None:
            raise UsageError(f"py-spy cannot look at the server: {spy.communicate()[1].strip()[-200:]}")
        result = Recording()
        yield result
        spy.send_signal(signal.SIGINT)
        _, errors = spy.communicate(timeout=60)
        if not output.exists():
            raise UsageError(f"py-spy has recorded nothing: {errors.strip()[-200:]}")
        result.stacks = output.read_text(errors="replace")
    finally:
        if spy.poll() is None:
            spy.kill()
            spy.wait()
