"""A client of the OpenAI API that costs little, so that what is measured is the server.

It runs on the machine it measures. The standard library's HTTP takes some 20 µs a streamed chunk, a tenth of
what comfortable clients take.
"""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reame_bench.errors import BenchError, NotOffered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Messages = list[dict[str, str]]

_TIMEOUT_S = 1800.0
_PIECES = 4


@dataclass(slots=True)
class Reply:
    """One answer; times in seconds from just before the request was sent."""

    seconds: float = 0.0
    first: float = 0.0
    """To the first piece of text."""
    tokens: int = 0
    prompt_tokens: int = 0
    cached: int = 0
    """Prompt tokens that the server says it did not compute."""
    text: str = ""
    finish: str = ""
    times: list[float] = field(default_factory=list)
    """Of each piece of text; with drafts a piece may hold several tokens."""

    @property
    def rate(self) -> float:
        """Generated tokens a second, the prompt left out; 0 for an answer of one token. Where nearly everything
        came at once nothing tells the prompt's time apart, and it is included."""
        if self.tokens < 2:
            return 0.0
        if len(self.times) < _PIECES:
            return self.tokens / self.seconds
        return (self.tokens - 1) / (self.seconds - self.first)

    @property
    def gaps(self) -> list[float]:
        """Between one piece of text and the next."""
        return [b - a for a, b in zip(self.times, self.times[1:], strict=False)]


class Client:
    """Of the server at ``url`` (``http://host:port``). Any number of threads may use it."""

    def __init__(self, url: str, model: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise BenchError(f"{url} is no address such as http://127.0.0.1:8080")
        self._host, self._port = parts.hostname, parts.port or 80
        self._model = model

    def healthy(self) -> bool:
        """Whether it lists its models by now."""
        try:
            status, _ = self._get("/v1/models", timeout=5.0)
        except (OSError, http.client.HTTPException):
            return False
        return status == 200

    def status(self, path: str) -> dict[str, Any]:
        """The JSON object at ``path``; empty where there is none."""
        try:
            code, body = self._get(path, timeout=10.0)
            found = json.loads(body) if code == 200 else {}
        except (OSError, http.client.HTTPException, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _get(self, path: str, timeout: float) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def chat(self, messages: Sequence[Mapping[str, str]], max_tokens: int, **fields: object) -> Reply:
        """Stream the answer to ``messages``, greedy where ``fields`` say nothing else. Raises NotOffered where
        the server refuses the request, BenchError where it fails."""
        body = {
            "model": self._model,
            "messages": messages,
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            **fields,
        }
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT_S)
        payload = json.dumps(body)
        started = time.perf_counter()
        try:
            connection.request("POST", "/v1/chat/completions", payload, {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise _refusal(response.status, response.read())
            return _read(response, started)
        except (OSError, http.client.HTTPException) as error:
            raise BenchError(f"the server broke off: {error or type(error).__name__}") from error
        finally:
            connection.close()

    def choices(
        self, messages: Sequence[Mapping[str, str]], max_tokens: int, **fields: object
    ) -> dict[str, Any]:
        """The whole answer to ``messages`` at once, not streamed. Raises as ``chat``."""
        body = {"model": self._model, "messages": messages, "max_tokens": max_tokens, **fields}
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT_S)
        try:
            connection.request(
                "POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"}
            )
            response = connection.getresponse()
            answer = response.read()
            if response.status != 200:
                raise _refusal(response.status, answer)
            found: dict[str, Any] = json.loads(answer)
            return found
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise BenchError(f"the server broke off: {error or type(error).__name__}") from error
        finally:
            connection.close()


def _read(response: http.client.HTTPResponse, started: float) -> Reply:
    reply = Reply()
    pieces: list[str] = []
    complete = False
    for line in response:
        if not line.startswith(b"data:"):
            continue
        now = time.perf_counter() - started
        data = line[5:].strip()
        if data == b"[DONE]":
            complete = True
            break
        chunk = json.loads(data)
        if "error" in chunk:
            raise BenchError(f"an error within the stream: {chunk['error']}")
        for choice in chunk.get("choices") or ():
            text = choice.get("delta", {}).get("content")
            if text:
                pieces.append(text)
                reply.times.append(now)
            reply.finish = choice.get("finish_reason") or reply.finish
        if usage := chunk.get("usage"):
            reply.tokens = usage["completion_tokens"]
            reply.prompt_tokens = usage["prompt_tokens"]
            reply.cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    if not complete:
        raise BenchError("the server broke off in the middle of a stream")
    reply.seconds = time.perf_counter() - started
    reply.first = reply.times[0] if reply.times else reply.seconds
    reply.text = "".join(pieces)
    # Servers without usage in streams send one token a piece.
    reply.tokens = reply.tokens or len(pieces)
    return reply


def _refusal(status: int, body: bytes) -> BenchError:
    text = " ".join(body.decode(errors="replace").split())[:200]
    kind = NotOffered if 400 <= status < 500 else BenchError
    return kind(f"status {status}: {text}")
