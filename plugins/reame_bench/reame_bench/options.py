"""What ``reame bench`` was asked for."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from reame_bench.sizes import SIZES, Size


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """The flags of the command, unchecked but for their types."""

    models: tuple[str, ...] = ()
    size: str = "quick"
    names: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    llama_server: Path | None = None
    draft: Path | None = None
    store: str | None = None
    requests: int | None = None
    rounds: int | None = None
    threads: int | None = None
    json_file: Path | None = None
    plots: Path | None = None
    svg: bool = False
    page: Path | None = None
    limit: float | None = None
    profile: bool = False
    simulate: bool = False
    listing: bool = False

    @property
    def measured_size(self) -> Size:
        """The named size with what was asked for otherwise."""
        size = SIZES[self.size]
        if self.requests is not None:
            size = replace(size, requests=self.requests, name=f"{size.name}, {self.requests} requests")
        return replace(size, rounds=self.rounds) if self.rounds else size


def typed_command() -> str:
    """As it was typed, but without the folders of this machine."""
    return " ".join(["reame", *map(without_folders, sys.argv[1:])])


def without_folders(word: str) -> str:
    """An argument as it can be shown: a path shrinks to its name; options and addresses stay."""
    return word if word.startswith("-") or "://" in word else Path(word).name
