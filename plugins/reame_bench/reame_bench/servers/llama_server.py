"""llama.cpp's own server, by its defaults; with ``ngram-mod``, its drafts from what it has generated before;
and with a draft model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_bench.servers.server import Child, Contestant, Job, Running, environment

if TYPE_CHECKING:
    from pathlib import Path


class LlamaServer(Contestant):
    def __init__(self, binary: Path, name: str = "llama-server", options: tuple[str, ...] = ()) -> None:
        self.name = name
        self._binary = binary
        self._options = options

    def start(self, job: Job, folder: Path, port: int) -> Running:
        command = [
            *(str(self._binary), "--model", str(job.model), "--host", "127.0.0.1", "--port", str(port)),
            *("--threads", str(job.threads), "--parallel", str(job.users)),
            # One context for all slots together.
            *("--ctx-size", str(job.context * job.users)),
            *self._options,
        ]
        return Child(command, environment(), folder, port, job.name)


NGRAM = ("--spec-type", "ngram-mod")


def with_draft(model: Path) -> tuple[str, ...]:
    """Options for a draft model."""
    return ("--spec-type", "draft-simple", "--model-draft", str(model))
