"""A TCP proxy before a store: slow, silent or lying."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Proxy:
    """Passes bytes on to ``target``, a port of this machine. ``delay_s`` holds back each piece of an answer;
    ``spoil`` makes another one of it, or None to hang up."""

    def __init__(self, target: int) -> None:
        self.delay_s = 0.0
        self.spoil: Callable[[bytes], bytes | None] = lambda answer: answer
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self._step = 1 << 16
        self._sockets: list[socket.socket] = []
        self._closing = False
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def lie(self) -> None:
        """Answer with random bytes from now on."""
        self.spoil = lambda answer: os.urandom(len(answer))

    def drip(self, seconds: float) -> None:
        """Answer byte by byte, so that no single wait is long."""
        self.delay_s = seconds
        self._step = 1

    def heal(self) -> None:
        """Pass on everything at once again."""
        self.delay_s = 0.0
        self._step = 1 << 16
        self.spoil = lambda answer: answer

    def close(self) -> None:
        self._closing = True
        # Whoever waits for a connection gets one. Only when he is gone are all sockets known.
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._accepting.join()
        self._listener.close()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            if self._closing:
                near.close()
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                near.close()
                continue
            self._sockets += [near, far]
            threading.Thread(target=self._pass, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                spoilt = self.spoil(data) if answers else data
                if spoilt is None:
                    break
                step = self._step if answers else len(spoilt)
                for start in range(0, len(spoilt), step):
                    if answers and self.delay_s:
                        time.sleep(self.delay_s)
                    target.sendall(spoilt[start : start + step])
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy_to(port: int) -> Iterator[Proxy]:
    """A proxy before a port of this machine, until the context ends."""
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
