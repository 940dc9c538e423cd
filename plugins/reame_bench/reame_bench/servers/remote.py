"""A server that somebody else has started: any that speaks the OpenAI API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

from reame_bench.client import Client
from reame_bench.errors import BenchError
from reame_bench.processes import tree_cpu_seconds
from reame_bench.servers.server import WARM_UP, Contestant, Job, Running

if TYPE_CHECKING:
    from pathlib import Path


class Remote(Contestant):
    """At ``url``, asked for ``model`` (None: the job's). With ``pid`` its processor time is read. It keeps what
    it has computed from one unit to the next: only its owner could start it afresh."""

    restarts = False

    def __init__(self, name: str, url: str, model: str | None = None, pid: int | None = None) -> None:
        self.name = name
        self._url = url
        self._model = model
        self._pid = pid

    def start(self, job: Job, folder: Path, port: int) -> Running:
        return _Foreign(Client(self._url, self._model or job.name), self._url, self._pid)


class _Foreign(Running):
    def __init__(self, client: Client, url: str, pid: int | None) -> None:
        self.client = client
        try:
            self._process = psutil.Process(pid) if pid else None
        except psutil.NoSuchProcess:
            raise BenchError(f"there is no process {pid}") from None
        if not client.healthy():
            raise BenchError(f"nothing answers at {url}/v1/models")
        client.chat(WARM_UP, 4)

    def cpu_seconds(self) -> float:
        return tree_cpu_seconds(self._process) if self._process else float("nan")

    def resident_bytes(self) -> int:
        return self._process.memory_info().rss if self._process else 0

    def end(self) -> None:
        """It is not ours to end."""
