"""Ollama, which is told by a file of its own what model to serve."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from reame_bench.client import Client
from reame_bench.errors import BenchError
from reame_bench.processes import ServerProcess
from reame_bench.servers.server import WARM_UP, Contestant, Job, Running, environment, wait_until_healthy

if TYPE_CHECKING:
    from pathlib import Path

_MODEL = "reame-bench"


class Ollama(Contestant):
    name = "ollama"

    def __init__(self, binary: Path) -> None:
        self._binary = binary

    def start(self, job: Job, folder: Path, port: int) -> Running:
        variables = environment(
            OLLAMA_HOST=f"127.0.0.1:{port}",
            OLLAMA_MODELS=str(folder / "models"),
            OLLAMA_NUM_PARALLEL=str(job.users),
            OLLAMA_CONTEXT_LENGTH=str(job.context),
            OLLAMA_KEEP_ALIVE="-1",
        )
        recipe = folder / "Modelfile"
        recipe.write_text(f"FROM {job.model}\nPARAMETER num_thread {job.threads}\n")
        return _Serving(self._binary, variables, recipe, port)


class _Serving(Running):
    def __init__(self, binary: Path, variables: dict[str, str], recipe: Path, port: int) -> None:
        self._process = ServerProcess([str(binary), "serve"], variables, recipe.with_name("server.log"))
        self.client = Client(f"http://127.0.0.1:{port}", _MODEL)
        try:
            wait_until_healthy(self.client, self._process)
            made = subprocess.run(
                [str(binary), "create", _MODEL, "-f", str(recipe)],
                env=variables,
                capture_output=True,
                text=True,
                check=False,
            )
            if made.returncode:
                raise BenchError(f"ollama create failed: {made.stderr.strip().splitlines()[-1:]}")
            self.client.chat(WARM_UP, 4)
        except BaseException as error:
            self.end()
            if isinstance(error, BenchError):
                raise BenchError(f"{error}; {self._process.ending()}") from None
            raise

    def cpu_seconds(self) -> float:
        return self._process.cpu_seconds()

    def resident_bytes(self) -> int:
        return self._process.resident_bytes()

    def end(self) -> None:
        self._process.end()
