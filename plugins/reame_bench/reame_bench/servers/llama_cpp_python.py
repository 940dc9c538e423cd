"""The server of the llama-cpp-python package (its extra ``server``), with the very build of llama.cpp that
Reame has.

With its defaults it crashes on processors with AMX at the first batch of several rows. It is then started again
without llama.cpp's extra weight buffers, as Reame would: a setting that it does not offer itself, so a few
lines of ours set it. See ``llama_cpp_python_child``.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from reame_bench.errors import BenchError
from reame_bench.servers.server import Child, Contestant, Job, Running, environment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NEEDED = ("fastapi", "sse_starlette", "starlette_context", "pydantic_settings")


def available() -> bool:
    """Whether what its server needs is installed."""
    return all(find_spec(name) for name in _NEEDED)


class LlamaCppPython(Contestant):
    name = "llama-cpp-python"
    _plain_weights = False

    def start(self, job: Job, folder: Path, port: int) -> Running:
        if not available():
            raise BenchError("its server needs packages: pip install 'reame-bench[peers]'")
        if not self._plain_weights:
            try:
                return self._start(job, folder, port)
            except BenchError:
                self._plain_weights = True
        return self._start(job, folder, port)

    def _start(self, job: Job, folder: Path, port: int) -> Running:
        module = "reame_bench.servers.llama_cpp_python_child" if self._plain_weights else "llama_cpp.server"
        command = [
            *(sys.executable, "-m", module, "--model", str(job.model), "--host", "127.0.0.1"),
            *("--port", str(port), "--n_ctx", str(job.context), "--verbose", "false"),
            *("--n_threads", str(job.threads), "--n_threads_batch", str(job.threads)),
        ]
        return Child(command, environment(), folder, port, job.name)

    def schema_fields(self, schema: Mapping[str, object]) -> dict[str, object]:
        return {"response_format": {"type": "json_object", "schema": schema}}
