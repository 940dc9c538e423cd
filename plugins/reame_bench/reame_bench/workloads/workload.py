"""What a workload is, and the stage it runs on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Literal

from reame_bench.errors import NotOffered
from reame_bench.servers.server import Contestant, Job, Running, running

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from reame_bench.client import Client, Reply
    from reame_bench.sizes import Size


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that every contestant gets."""

    key: str
    title: str
    unit: str
    better: Literal["less", "more"] = "less"


@dataclass(slots=True)
class Outcome:
    """What one contestant did in one round: ``figures`` by the keys of the workload's metrics."""

    figures: dict[str, float]
    curves: dict[str, list[float]] = field(default_factory=dict)
    """Values in the order in which they were measured, for plots."""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Asked:
    """An answered request and the processor seconds that the server took meanwhile."""

    reply: Reply
    cpu: float


class Stage:
    """A fresh contestant, running, and what a workload does with it. A context manager."""

    def __init__(
        self,
        contestant: Contestant,
        job: Job,
        folder: Path,
        size: Size,
        progress: Callable[[str], None],
        deadline: float = inf,
    ) -> None:
        self.contestant = contestant
        self.deadline = deadline
        """By ``time.monotonic``: after it what is long may be cut short, with a note that says so."""
        self.job = job
        self.size = size
        self.progress = progress
        self._folder = folder
        self._cleanup = ExitStack()
        self.server: Running

    def __enter__(self) -> Stage:
        self.server = self._cleanup.enter_context(running(self.contestant, self.job, self._folder))
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    @property
    def client(self) -> Client:
        return self.server.client

    def restart(self) -> None:
        """End the server and start it on what it has kept on disk."""
        if not self.contestant.restarts:
            raise NotOffered("a server that others have started cannot be started again")
        self._cleanup.close()
        self.server = self._cleanup.enter_context(running(self.contestant, self.job, self._folder))

    def ask(self, messages: Sequence[Mapping[str, str]], max_tokens: int, **fields: object) -> Asked:
        """One request, alone."""
        before = self.server.cpu_seconds()
        reply = self.client.chat(messages, max_tokens, **fields)
        return Asked(reply, self.server.cpu_seconds() - before)

    def ask_at_once(
        self, conversations: Sequence[Sequence[Mapping[str, str]]], max_tokens: int, **fields: object
    ) -> list[Reply]:
        """All of them at the same time, each on a connection of its own."""
        with ThreadPoolExecutor(len(conversations)) as pool:
            return list(pool.map(lambda each: self.client.chat(each, max_tokens, **fields), conversations))


class Workload(ABC):
    """Asks a server for something and says how long that took."""

    name: str
    title: str
    question: str
    """What it compares, in a sentence or two."""
    metrics: tuple[Metric, ...]
    optional = False
    """Only for contestants that name it in ``only``."""

    @abstractmethod
    def run(self, stage: Stage) -> Outcome:
        """Measure the contestant on ``stage``. Raises NotOffered, BenchError."""

    def takes(self, contestant: Contestant) -> bool:
        """Whether ``contestant`` takes part."""
        return self.name in contestant.only if self.optional or contestant.only else True
