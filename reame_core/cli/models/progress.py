"""How far a download is, on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from reame_core.cli.terminal import is_terminal, note
from reame_core.host.memory import byte_count
from reame_core.models.download.progress import Progress
from reame_core.models.wording import printable

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_STEPS = 10
"""Lines a file, where there is no bar."""
_STEP_BYTES = 100_000_000
"""Between lines about a file of unknown length."""


class ProgressForPeople(Progress, Protocol):
    amount: str
    """How much of the latest file is here, for people; empty before there is one."""


def progress_on_stderr() -> ProgressForPeople:
    """A bar where one can be drawn."""
    drawable = is_terminal(sys.stderr) and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")
    return BarProgress() if drawable else LineProgress(note)


class LineProgress:
    """Tells ``say`` a line at the beginning and at each tenth."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.amount = ""
        self._title = ""
        self._step = -1

    def begin(self, title: str) -> None:
        self._title = printable(title)
        self._step = -1

    def update(self, done: int, total: int | None) -> None:
        self.amount = amount(done, total)
        step = _STEPS * done // total if total else done // _STEP_BYTES
        if step <= self._step:
            return
        self._step = step
        percent = f" {100 * done // total} %" if total else ""
        self.say(f"fetching {self._title}:{percent} ({self.amount})")

    def end(self) -> None: ...


class BarProgress:
    """A bar with rate and time left, which goes away when the file is here."""

    def __init__(self) -> None:
        self.amount = ""
        self._title = ""
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def begin(self, title: str) -> None:
        self._title = printable(title)

    def update(self, done: int, total: int | None) -> None:
        self.amount = amount(done, total)
        if self._bar is None or self._task is None:
            # What was here before must not count as if it had come at once.
            self._bar = _new_bar()
            self._task = self._bar.add_task(self._title, completed=done, total=total)
            self._bar.start()
        else:
            self._bar.update(self._task, completed=done, total=total)

    def say(self, line: str) -> None:
        if self._bar is None:
            note(line)
        else:
            self._bar.console.print(printable(line), markup=False, highlight=False)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None


def amount(done: int, total: int | None) -> str:
    """Such as ``12 MB of 491 MB``."""
    return byte_count(done) if total is None else f"{byte_count(done)} of {byte_count(total)}"


def _new_bar() -> RichProgress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True, highlight=False),
        transient=True,
        expand=True,
    )
