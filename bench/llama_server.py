"""llama.cpp's own server as a contestant."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from reame_bench.processes import free_port

from bench.worker import OPENMP

_START_SECONDS = 120


class LlamaServer:
    """A llama-server on a free loopback port with its defaults, but for threads and context."""

    def __init__(self, binary: Path, model: Path, threads: int, context: int) -> None:
        self._url = f"http://127.0.0.1:{free_port()}"
        host, port = self._url.removeprefix("http://").split(":")
        self._process = subprocess.Popen(
            [
                *(str(binary), "--model", str(model), "--host", host, "--port", port),
                *("--threads", str(threads), "--ctx-size", str(context)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={key: value for key, value in os.environ.items() if key not in OPENMP},
        )
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                with urllib.request.urlopen(self._url + "/health", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                if self._process.poll() is not None:
                    raise RuntimeError(f"llama-server ended with status {self._process.returncode}") from None
                if time.monotonic() > deadline:
                    raise RuntimeError(f"llama-server did not start in {_START_SECONDS} s") from None
                time.sleep(0.2)

    def completion(self, prompt: list[int], tokens: int) -> tuple[float, float]:
        """(prompt tokens a second, generated tokens a second), as it says itself."""
        body = {
            "prompt": prompt,
            "n_predict": tokens,
            "temperature": 0,
            "ignore_eos": True,
            "cache_prompt": False,
        }
        request = urllib.request.Request(
            self._url + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=3600) as answer:
            timings: dict[str, Any] = json.load(answer)["timings"]
        if timings["prompt_n"] != len(prompt) or timings["predicted_n"] != tokens:
            raise RuntimeError(f"llama-server did not do what it was asked: {timings}")
        return timings["prompt_per_second"], timings["predicted_per_second"]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> LlamaServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
