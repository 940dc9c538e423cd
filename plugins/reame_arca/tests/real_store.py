"""A real Valkey or Redis on a free port of this machine, in a folder of its own, to be mistreated."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import redis

PATIENCE = 120.0
"""Seconds after which something hangs."""


def server_binary() -> str:
    """Skips the test where there is none."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    pytest.skip("neither valkey-server nor redis-server is installed (apt install redis-server)")


class RealStore:
    """One server process. Nothing is kept on disk: whoever starts it again finds it empty."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._binary = server_binary()
        self._folder = folder
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        """Returns once it answers."""
        flags = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._binary, *flags, "--dir", str(self._folder), *self._arguments], stdout=log, stderr=log
            )
        wait_until(self._answers)

    def kill(self) -> None:
        """As a machine that loses power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def restart(self) -> None:
        """Empty, on the same port."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """It takes connections and answers nothing."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)
        process = psutil.Process(self._process.pid)
        wait_until(lambda: process.status() == psutil.STATUS_STOPPED)

    def heal(self) -> None:
        """Whatever was done to it: it runs, and is empty."""
        self.restart()

    def resume(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def fill(self, *, policy: str = "noeviction") -> None:
        """To its limit of memory: with ``noeviction`` every further write is refused."""
        with self.client() as client:
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("maxmemory", client.info("memory")["used_memory"] + 64 * 1024)
            client.config_set("maxmemory-policy", policy)
            if policy == "noeviction":
                with contextlib.suppress(redis.exceptions.OutOfMemoryError):
                    for number in range(10_000):
                        client.set(f"filler:{number}", b"x" * 4096)
                # What a client's buffers take comes and goes: without this some writes would still fit.
                client.config_set("maxmemory", client.info("memory")["used_memory"] // 2)

    def client(self) -> redis.Redis:
        """A patient one, for looking and spoiling."""
        return redis.Redis(port=self.port, socket_timeout=PATIENCE, protocol=2)

    def names(self, pattern: str = "*") -> list[str]:
        with self.client() as client:
            return sorted(name.decode() for name in client.scan_iter(pattern))

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "server.log").read_text()
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.exceptions.ConnectionError:
            return False


@contextmanager
def real_store(folder: Path, *arguments: str) -> Iterator[RealStore]:
    """A store until the context ends. ``arguments`` are further flags of the server."""
    store = RealStore(folder, *arguments)
    try:
        yield store
    finally:
        store.kill()


_given: set[int] = set()


def free_port() -> int:
    """Another one each time: those that were given may not be in use yet."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port: int = listener.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return port


def wait_until(condition: object, patience: float = PATIENCE) -> None:
    """Until ``condition()`` holds."""
    assert callable(condition)
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
