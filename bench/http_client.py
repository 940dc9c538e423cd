"""A client process that costs little: streams over plain sockets, told what to ask by JSON lines on standard
input.

An order holds ``port``, ``prompts`` (token ids), ``tokens`` and ``health``; the answer, for each stream, the
seconds from before the first request was sent to each of its tokens, and how long each GET /health took.
The other side is ``bench.core.http``.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import threading
import time

_PAUSE = 0.05


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = _ask(order)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def _ask(order: dict) -> dict:  # type: ignore[type-arg]
    port, tokens = order["port"], order["tokens"]
    bodies = [_body(prompt, tokens) for prompt in order["prompts"]]
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in bodies]
    selector = selectors.DefaultSelector()
    times: list[list[float]] = [[] for _ in bodies]
    left = [b""] * len(bodies)
    done = threading.Event()
    health: list[float] = []
    asker = threading.Thread(target=_ask_health, args=(port, done, health))
    started = time.perf_counter()
    for number, (connection, body) in enumerate(zip(connections, bodies, strict=True)):
        connection.sendall(body)
        selector.register(connection, selectors.EVENT_READ, number)
    if order["health"]:
        asker.start()
    open_streams = len(bodies)
    while open_streams:
        for key, _ in selector.select(60):
            number = key.data
            piece = key.fileobj.recv(65_536)  # type: ignore[union-attr]
            now = time.perf_counter() - started
            text = left[number] + piece
            end = text.rfind(b"\n") + 1
            left[number] = text[end:]
            times[number] += [now] * text[:end].count(b'"finish_reason":')
            if not piece or b"data: [DONE]" in text:
                open_streams -= 1
                selector.unregister(key.fileobj)
    done.set()
    if order["health"]:
        asker.join()
    for connection in connections:
        connection.close()
    for stream in times:
        if len(stream) < tokens // 2:
            raise RuntimeError(f"{len(stream)} chunks came for {tokens} tokens")
    return {"streams": times, "health": health}


def _body(prompt: list[int], tokens: int) -> bytes:
    fields = {
        "model": "bench",
        "prompt": prompt,
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "reame": {"cache": "bypass"},
    }
    body = json.dumps(fields).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: bench\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _ask_health(port: int, done: threading.Event, seconds: list[float]) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        while not done.wait(_PAUSE):
            before = time.perf_counter()
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: bench\r\n\r\n")
            answer = b""
            while b"}" not in answer:
                piece = connection.recv(65_536)
                if not piece:
                    return
                answer += piece
            seconds.append(time.perf_counter() - before)


if __name__ == "__main__":
    main()
