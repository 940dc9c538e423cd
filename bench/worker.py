"""An engine in a process of its own, seen from the benchmark. The other side is ``bench.child``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reame_core.llama.model import WeightBuffers

OPENMP = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")
_ENDLESS = 1e6


class WorkerDied(Exception):
    """The process ended before it answered."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One request: seconds to its first token, seconds from there to the last, and how many there were."""

    prefill: float
    decode: float
    tokens: int

    @property
    def rate(self) -> float:
        """Tokens a second after the first."""
        return (self.tokens - 1) / self.decode


class Worker:
    """Starts with no OpenMP variables but those of ``environ``. ``library_first`` loads llama.cpp before
    Reame can set any; ``adapt`` lets the number of threads follow busy neighbours."""

    def __init__(
        self,
        path: Path,
        threads: int,
        buffers: WeightBuffers,
        *,
        cells: int = 1024,
        environ: Mapping[str, str] | None = None,
        library_first: bool = False,
        adapt: bool = False,
    ) -> None:
        inherited = {key: value for key, value in os.environ.items() if key not in OPENMP}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=inherited | dict(environ or {}),
            cwd=Path(__file__).parents[1],
        )
        try:
            self.cells: int = self._ask(
                path=str(path.absolute()),
                threads=threads,
                extra=buffers.extra,
                repacked=buffers.repacked,
                cells=cells,
                library_first=library_first,
                adapt=adapt,
            )["cells"]
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(self, prompt: int, tokens: int, seconds: float = _ENDLESS) -> Timing:
        """Run one request on an empty KV memory; its answer is cut off ``seconds`` after its first token."""
        return Timing(**self._ask(prompt=prompt, tokens=tokens, seconds=seconds))

    def _ask(self, **order: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self._process.stdout.readline()
        if not line:
            raise WorkerDied(f"the measuring process ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
