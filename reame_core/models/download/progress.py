"""Whom a download tells how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called by the thread that downloads."""

    def begin(self, title: str) -> None:
        """A file is about to be fetched."""
        ...

    def update(self, done: int, total: int | None) -> None:
        """``done`` of ``total`` bytes are here; None where the server does not say how many there are."""
        ...

    def say(self, line: str) -> None:
        """Something to know: a wait, a new attempt."""
        ...

    def end(self) -> None:
        """Nothing more will come of this file, whether it is complete or not."""
        ...


class Silent:
    """Tells nobody."""

    def begin(self, title: str) -> None: ...

    def update(self, done: int, total: int | None) -> None: ...

    def say(self, line: str) -> None: ...

    def end(self) -> None: ...
