"""A web server on this machine that behaves as badly as a test wants: cuts, stalls, lies, refuses, redirects.

It also plays a hub (``/api/models/…`` and ``/ORG/REPO/resolve/…``) and a proxy (requests for whole addresses).
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"

Misdeed = Callable[["Answer"], None]
"""What is done with a request in place of answering it properly."""


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]

    @property
    def range(self) -> str | None:
        return self.headers.get("range")


@dataclass
class FileServer:
    """``files`` by path. Misdeeds are used up one a request for a file; then all is well."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    misdeeds: list[Misdeed] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files of a hub's repositories by name."""
    cdn: str = ""
    """Where the hub sends those who ask for a file."""
    hub_answers: list[Misdeed] = field(default_factory=list)
    tags: bool = True
    """Whether files have an ETag."""
    ending: threading.Event = field(default_factory=threading.Event)
    """Set when the test is over: what waits may go."""

    def gets(self, path: str = "") -> list[Request]:
        return [request for request in self.requests if request.method == "GET" and path in request.target]


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    at: FileServer

    def log_message(self, *_: object) -> None: ...

    def do_CONNECT(self) -> None:
        self._note()
        self.status(403)

    def do_GET(self) -> None:
        self._note()
        path = unquote(urlsplit(self.path).path)
        if path.startswith("/api/models/"):
            return self.at.hub_answers.pop(0)(self) if self.at.hub_answers else self._repository(path)
        if "/resolve/" in path and self.at.cdn:
            name = path.partition("/resolve/")[2].partition("/")[2]
            return self.status(302, location=f"{self.at.cdn}/{name}?signature=secret")
        if self.at.misdeeds:
            return self.at.misdeeds.pop(0)(self)
        return self.serve()

    @property
    def body(self) -> bytes | None:
        return self.at.files.get(unquote(urlsplit(self.path).path))

    @property
    def start(self) -> int:
        """Where the wanted piece begins; 0 for a version that is not this one any more."""
        found = self.headers.get("range", "")
        wanted = self.headers.get("if-range")
        if not found.startswith("bytes=") or (wanted is not None and wanted != self.tag):
            return 0
        return int(found.removeprefix("bytes=").rstrip("-"))

    @property
    def tag(self) -> str:
        return f'"{hashlib.md5(self.body or b"").hexdigest()}"'

    def serve(self, *, send: int | None = None, length: int | None = None) -> None:
        """The file, or the piece of it that is asked for: the first ``send`` bytes of that, announced as
        ``length``."""
        body = self.body
        if body is None:
            return self.status(404)
        start = self.start
        if start and start >= len(body):
            return self.status(416, content_range=f"bytes */{len(body)}")
        piece = body[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("content-range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if self.at.tags:
            self.send_header("etag", self.tag)
        self.send_header("content-length", str(len(piece) if length is None else length))
        self.end_headers()
        self.wfile.write(piece if send is None else piece[:send])
        self.wfile.flush()
        if send is not None:
            self.close_connection = True
        return None

    def status(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _note(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.at.requests.append(Request(self.command, self.path, headers))

    def _repository(self, path: str) -> None:
        name = path.removeprefix("/api/models/").partition("/revision/")[0]
        files = self.at.repositories.get(name)
        if files is None:
            return self.status(404, x_error_code="RepoNotFound")
        siblings = [
            {
                "rfilename": file,
                "size": len(content),
                "blobId": "b",
                "lfs": {"size": len(content), "sha256": sha256(content), "pointerSize": 134},
            }
            for file, content in files.items()
        ]
        info = {"id": name, "modelId": name, "sha": COMMIT, "private": False, "siblings": siblings}
        return self.status(200, json.dumps(info).encode(), content_type="application/json")


def cut(after: int) -> Misdeed:
    """The connection breaks."""

    def misdeed(answer: Answer) -> None:
        answer.serve(send=after)

    return misdeed


def never_beyond(end: int) -> Misdeed:
    """A short body under the right length, each time again."""

    def misdeed(answer: Answer) -> None:
        answer.serve(send=max(end - answer.start, 0))

    return misdeed


def stall(after: int) -> Misdeed:
    """Nothing comes any more."""

    def misdeed(answer: Answer) -> None:
        answer.serve(send=after)
        answer.at.ending.wait()

    return misdeed


def hold(after: int, reached: threading.Event, go_on: threading.Event) -> Misdeed:
    """A pause, which the test ends."""

    def misdeed(answer: Answer) -> None:
        answer.serve(send=after, length=len(answer.body or b"") - answer.start)
        reached.set()
        go_on.wait()
        answer.wfile.write((answer.body or b"")[answer.start + after :])

    return misdeed


def refuse(code: int, body: bytes = b"", **headers: str) -> Misdeed:
    return lambda answer: answer.status(code, body, **headers)


def lie(length: int) -> Misdeed:
    """The file, under a wrong ``Content-Length``."""
    return lambda answer: answer.serve(send=min(length, len(answer.body or b"")), length=length)


def whole(answer: Answer) -> None:
    """All of it, whatever piece is asked for."""
    del answer.headers["range"]
    answer.serve()


def wrong_piece(answer: Answer) -> None:
    body = answer.body or b""
    answer.status(206, body[5:], content_range=f"bytes 5-{len(body) - 1}/{len(body)}")


def chunked(answer: Answer) -> None:
    """The file without its length."""
    answer.send_response(200)
    answer.send_header("etag", answer.tag)
    answer.send_header("transfer-encoding", "chunked")
    answer.end_headers()
    body = answer.body or b""
    answer.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextmanager
def running() -> Iterator[FileServer]:
    state = FileServer()
    handler = type("Handler", (Answer,), {"at": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that go away are the point
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.ending.set()
        server.shutdown()
        server.server_close()
        thread.join()
