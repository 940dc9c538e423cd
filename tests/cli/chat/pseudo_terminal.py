"""A program in a terminal: types, waits for what appears, resizes. Nothing here depends on how long anything
takes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Any

import pyte

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

MOMENT_S = 0.1
PATIENCE = 600
"""Moments of silence after which what has not appeared never will."""
MOST_OUTPUT = 10_000_000


class _Screen(pyte.HistoryScreen):
    """Answers what programs ask a terminal."""

    reply: Callable[[bytes], object] = staticmethod(lambda _: None)

    def write_process_input(self, data: str) -> None:
        self.reply(data.encode())


class Terminal:
    """``program`` with a terminal of its own; ``close`` ends it."""

    def __init__(
        self,
        program: list[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
        pass_fds: tuple[int, ...] = (),
    ) -> None:
        self._screen = _Screen(columns, rows, history=10_000)
        self._stream = pyte.ByteStream(self._screen)
        self._master, slave = pty.openpty()
        self._screen.reply = lambda data: os.write(self._master, data)
        self._set_size(columns, rows)
        self.settings = termios.tcgetattr(slave)
        self._slave = slave
        self.output = b""
        """Every byte that was written."""

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.default_int_handler)

        self.process = subprocess.Popen(
            [sys.executable, *program],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env={**os.environ, "TERM": "xterm-256color", **environment},
            preexec_fn=take_terminal,
            pass_fds=pass_fds,
        )

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        self._screen.resize(rows, columns)
        self._set_size(columns, rows)
        self.process.send_signal(signal.SIGWINCH)

    def lines(self) -> list[str]:
        """Everything that was ever on the screen, without what is blank at the end."""
        gone = ["".join(row[x].data for x in range(self._screen.columns)) for row in self._screen.history.top]
        lines = [line.rstrip() for line in [*gone, *self._screen.display]]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def shows_cursor(self) -> bool:
        return not self._screen.cursor.hidden

    def text(self) -> str:
        return "\n".join(self.lines())

    def wait_for(self, wanted: str | Callable[[], Any]) -> None:
        """Until the screen shows a text, or something holds."""
        holds = wanted if callable(wanted) else lambda: wanted in self.text()
        silence = 0
        while not holds():
            # Counted, not timed: a machine that was asleep meanwhile is no reason to fail.
            silence = 0 if self._read() else silence + 1
            if silence > PATIENCE or len(self.output) > MOST_OUTPUT:
                raise AssertionError(f"never came: {wanted!r}; on the screen:\n{self.text()}")

    def wait_for_prompt(self) -> None:
        self.wait_for(lambda: self.lines() and self.lines()[-1].startswith(">>>") and self.lines()[-1] == ">>>")

    def wait_for_end(self) -> int:
        """The exit code. What was written last may still be on its way then."""
        self.wait_for(lambda: self.process.poll() is not None)
        return self.process.returncode

    def current_settings(self) -> list[Any]:
        return termios.tcgetattr(self._slave)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self._slave)
        os.close(self._master)

    def _read(self) -> bool:
        """Take what has been written. False when nothing came for a moment."""
        ready, _, _ = select.select([self._master], [], [], MOMENT_S)
        if ready:
            data = os.read(self._master, 65536)
            self.output += data
            self._stream.feed(data)
        return bool(ready)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
