"""Several real server processes on the fake model, and one store."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from plugins.reame_arca.tests.real_store import PATIENCE, wait_until

CHAT = "/v1/chat/completions"


def chat_body(text: str, **fields: Any) -> dict[str, Any]:
    """Greedy unless ``fields`` say otherwise."""
    messages = [{"role": "user", "content": text}]
    return {"model": "fake", "messages": messages, "temperature": 0, "max_tokens": 24, **fields}


class Member:
    """One server process."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.log: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            wait_until(lambda: self._address() or self.process.poll() is not None)
            assert self._address(), "".join(self.log)
            self.url = self._address()
            self.http = httpx.Client(base_url=self.url, timeout=PATIENCE)
            wait_until(lambda: self.http.get("/health").status_code == 200)
        except BaseException:
            self.kill()
            raise

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)

    def _address(self) -> str:
        found = re.search(r"http://[\d.]+:\d+", "".join(self.log))
        return found[0] if found else ""

    def chat(self, text: str = "Tell me", **fields: Any) -> dict[str, Any]:
        """An answer to ``chat_body``."""
        response = self.http.post(CHAT, json=chat_body(text, **fields))
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def metric(self, name: str, labels: str = "") -> float:
        """A sample of /metrics; 0 where there is none."""
        found = re.search(rf"^{re.escape(name + labels)} (\S+)$", self.http.get("/metrics").text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def kill(self) -> None:
        """As a machine that loses power."""
        self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        if self.process.stderr is not None:
            self.process.stderr.close()

    def stop(self) -> None:
        """As an operator does."""
        self.http.close()
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.kill()


@contextmanager
def fleet(count: int, store_url: str, *, batch_ms: float = 1, **options: object) -> Iterator[list[Member]]:
    """``count`` servers that share a store; ``options`` are those of the plugin."""
    # On a busy machine an answer may take longer than any limit one would set.
    given = [f"{name}={value}" for name, value in {"timeout_ms": 500, **options}.items()]
    script = str(Path(__file__).with_name("serve_fake.py"))
    command = [sys.executable, script, store_url, str(batch_ms), *given]
    members: list[Member] = []
    try:
        with ThreadPoolExecutor(count) as pool:
            members += pool.map(lambda _: Member(command), range(count))
        yield members
    finally:
        for member in members:
            member.stop()


def said(answer: dict[str, Any]) -> tuple[object, ...]:
    """Everything that must not depend on how the answer came about."""
    choices = [(each["message"], each["finish_reason"], each.get("logprobs")) for each in answer["choices"]]
    usage = answer["usage"]
    return repr(choices), usage["prompt_tokens"], usage["completion_tokens"]


def recalled(answer: dict[str, Any]) -> bool:
    """Whether nothing was computed for it."""
    known = "arca" in answer["reame"].get("plugins", {})
    assert known == (answer["reame"]["prompt_tokens"]["computed"] == 0)
    return known
