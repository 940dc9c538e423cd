"""A contestant: a server under test, started afresh for each unit of measurement."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reame_bench.client import Client
from reame_bench.errors import BenchError
from reame_bench.processes import ServerProcess, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_START_S = 300.0
_OPENMP = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
WARM_UP = [{"role": "user", "content": "Say hello, then say what two and three are together."}]
"""Its first words are in no workload."""


@dataclass(frozen=True, slots=True)
class Job:
    """What every contestant is given: the same model, threads, context and number of users."""

    model: Path
    """Absolute."""
    name: str
    threads: int
    context: int = 4096
    users: int = 4


class Contestant(ABC):
    """A kind of server with certain options."""

    name: str
    """In results: no two have the same."""
    restarts = True
    """Whether it can be started again, with what it keeps on disk."""
    only: frozenset[str] = frozenset()
    """The workloads it takes part in; empty for all."""

    @abstractmethod
    def start(self, job: Job, folder: Path, port: int) -> Running:
        """Start it with ``folder`` for whatever it keeps. Raises BenchError."""

    def schema_fields(self, schema: Mapping[str, object]) -> dict[str, object]:
        """Request fields that make the answer fit a JSON schema."""
        return {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }
        }

    def best_of(self, count: int) -> dict[str, object] | None:
        """Request fields that make the server itself compute ``count`` answers and choose one; None where it
        cannot, so that the client asks for all and counts the votes."""
        del count
        return None


class Running(ABC):
    """A server that answers."""

    client: Client

    @abstractmethod
    def cpu_seconds(self) -> float:
        """Processor seconds since it was started, of all its processes; NaN where that cannot be known."""

    @abstractmethod
    def resident_bytes(self) -> int:
        """Resident memory now, 0 where that cannot be known."""

    @abstractmethod
    def end(self) -> None:
        """Stop it as a service manager would. May be called again."""

    def facts(self) -> dict[str, object]:
        """What it says about itself, for the record."""
        return {}


class Child(Running):
    """A server that is a process of ours."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path, port: int, model: str
    ):
        self._process = ServerProcess(command, environment, folder / "server.log")
        self.client = Client(f"http://127.0.0.1:{port}", model)
        try:
            wait_until_healthy(self.client, self._process)
            # Reads the weights in, so that the first measured request does not.
            self.client.chat(WARM_UP, 4)
        except BaseException as error:
            self.end()
            if isinstance(error, BenchError):
                raise BenchError(f"{error}; {self._process.ending()}") from None
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu_seconds(self) -> float:
        return self._process.cpu_seconds()

    def resident_bytes(self) -> int:
        return self._process.resident_bytes()

    def end(self) -> None:
        self._process.end()


def wait_until_healthy(client: Client, process: ServerProcess) -> None:
    """Raises BenchError where the server ends instead, or takes minutes."""
    deadline = time.monotonic() + _START_S
    while not client.healthy():
        if not process.running:
            raise BenchError("the server does not start")
        if time.monotonic() > deadline:
            raise BenchError(f"the server does not start within {_START_S:.0f} s")
        time.sleep(0.1)


def environment(**extra: str) -> dict[str, str]:
    """Of a server process: ours, without what Reame has set for its own OpenMP threads."""
    kept = {key: value for key, value in os.environ.items() if key not in _OPENMP}
    return kept | extra


@contextmanager
def running(contestant: Contestant, job: Job, folder: Path) -> Iterator[Running]:
    """``contestant`` at work on what ``folder`` keeps of earlier starts, until the with statement ends."""
    folder.mkdir(parents=True, exist_ok=True)
    server = contestant.start(job, folder, free_port())
    try:
        yield server
    finally:
        server.end()
