"""Server processes: started, their processor time read, and ended together with everything they started."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PR_SET_PDEATHSIG = 1
_PATIENCE_S = 40.0
"""What a server may take to put its memory away."""


class ServerProcess:
    """A running command whose output goes to ``log``. It dies with this process, even where this one is
    killed."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=dict(environment),
                cwd=log.parent,
                # Ctrl-C is for the harness, which ends its servers in order.
                process_group=0,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )
        self._tree = psutil.Process(self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def ending(self) -> str:
        """How it ended and the last line it wrote, for an error message."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return f"it ended with status {self._process.returncode}: {lines[-1] if lines else 'no output'}"

    def cpu_seconds(self) -> float:
        """Processor seconds of the process, its threads and its children, ended ones included."""
        return tree_cpu_seconds(self._tree)

    def resident_bytes(self) -> int:
        """Resident memory of the process and its children; pages they share count more than once."""
        total = 0
        with contextlib.suppress(psutil.NoSuchProcess):
            total += self._tree.memory_info().rss
            for child in self._tree.children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    total += child.memory_info().rss
        return total

    def end(self) -> None:
        """Ask it to end, wait, and kill what is left. May be called again."""
        children: list[psutil.Process] = []
        with contextlib.suppress(psutil.NoSuchProcess):
            children = self._tree.children(recursive=True)
        if self.running:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def tree_cpu_seconds(process: psutil.Process) -> float:
    """User and system seconds of ``process`` and its descendants. 0 where it has gone."""
    total = 0.0
    with contextlib.suppress(psutil.NoSuchProcess):
        total += sum(process.cpu_times()[:4])
        for child in process.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += sum(child.cpu_times()[:4])
    return total


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
