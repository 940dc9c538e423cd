"""A server that speaks the OpenAI API and knows nothing: for tests of the harness."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = ("the", " harbour", " is", " closed", " today")


class Stub(ThreadingHTTPServer):
    """``usage``: whether streams say how many tokens they had. ``refuse``: a field that is a 400.
    ``break_off``: streams end early, with an ``error`` or in ``silence``."""

    daemon_threads = True

    def __init__(self, port: int = 0, *, usage: bool = True, refuse: str = "", break_off: str = "") -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.usage = usage
        self.refuse = refuse
        self.break_off = break_off
        self.asked: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Stub
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(200 if self.path == "/v1/models" else 404, {"data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        if self.server.refuse and self.server.refuse in body:
            self._answer(400, {"error": {"message": f"{self.server.refuse} is not supported"}})
            return
        if not body.get("stream"):
            self._answer(200, {"choices": [{"message": {"content": "".join(WORDS)}}]})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        count = min(body["max_tokens"], len(WORDS))
        self._event({"choices": [{"delta": {"role": "assistant", "content": None}}]})
        for word in WORDS[:count]:
            self._event({"choices": [{"delta": {"content": word}, "finish_reason": None}]})
        if self.server.break_off:
            if self.server.break_off == "error":
                self._event({"error": {"message": "out of luck"}})
            self._chunk(b"")
            return
        self._event({"choices": [{"delta": {}, "finish_reason": "length"}]})
        if self.server.usage:
            details = {"cached_tokens": 7}
            self._event(
                {
                    "choices": [],
                    "usage": {"completion_tokens": 42, "prompt_tokens": 9, "prompt_tokens_details": details},
                }
            )
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _event(self, body: dict[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(body).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


@contextmanager
def stub(**options: Any) -> Iterator[Stub]:
    server = Stub(**options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
