"""The servers of this user that run on this machine: each leaves its address where ``reame ps`` finds it.

A file a server, ``servers/PID.json`` in the state directory, readable by its owner alone. It holds no key. A
server that was killed cannot remove its file: readers do, when they see that its process is gone.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from reame_core.host.state import state_folder

log = logging.getLogger("reame.running")

_LARGEST = 1 << 16
_SAME_START_S = 2.0
"""Clocks of processes are not exact; a number is not given again as fast as this."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    pid: int
    address: str
    """The base URL, as it listens: the host may be a wildcard."""
    since: float
    """When its process started, in seconds since 1970."""


@contextmanager
def announced(address: str, environ: Mapping[str, str] | None = None) -> Iterator[None]:
    """Let this process be found at ``address`` while the context lasts. Where that is impossible the log says
    so, and the server is not disturbed."""
    path: Path | None = None
    try:
        path = _announce(address, environ)
    except OSError as error:
        log.warning("reame ps will not find this server: %s", error)
    try:
        yield
    finally:
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink()


def running_servers(environ: Mapping[str, str] | None = None) -> list[RunningServer]:
    """Those whose processes are alive, the oldest first. What dead ones have left is removed."""
    folder = _folder(environ)
    if folder is None:
        return []
    found = []
    for path in sorted(folder.glob("*.json")):
        server = _read(path)
        if server is not None and _is_alive(server):
            found.append(server)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    return sorted(found, key=lambda server: server.since)


def _announce(address: str, environ: Mapping[str, str] | None) -> Path | None:
    folder = _folder(environ)
    if folder is None:
        return None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    server = RunningServer(os.getpid(), address, psutil.Process().create_time())
    path = folder / f"{server.pid}.json"
    temporary = path.with_suffix(f".{time.monotonic_ns()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(server), file)
    temporary.replace(path)
    return path


def _read(path: Path) -> RunningServer | None:
    try:
        with path.open("rb") as file:
            values = json.loads(file.read(_LARGEST))
        return RunningServer(int(values["pid"]), str(values["address"]), float(values["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_alive(server: RunningServer) -> bool:
    try:
        started: float = psutil.Process(server.pid).create_time()
    except (psutil.Error, ValueError, OverflowError):
        return False
    return abs(started - server.since) < _SAME_START_S


def _folder(environ: Mapping[str, str] | None) -> Path | None:
    state = state_folder(environ)
    return state / "servers" if state is not None else None
