"""A Valkey or Redis of this machine, for as long as something is measured."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from reame_core.errors import UsageError

_PATIENCE_S = 20.0


@contextmanager
def running_store() -> Iterator[str]:
    """The url of an empty store. Raises UsageError where none is installed."""
    binary = shutil.which("valkey-server") or shutil.which("redis-server")
    if binary is None:
        raise UsageError("there is neither valkey-server nor redis-server here: install one of them")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="reame-arca-bench-") as folder:
        flags = [
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            folder,
        ]
        process = subprocess.Popen([binary, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for(port)
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            with redis.Redis(port=port) as client:
                client.ping()
            return
        except redis.ConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
