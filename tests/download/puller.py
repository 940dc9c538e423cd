"""Pulling one file from a server of this machine, as tests do it again and again."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from reame_core.errors import ModelError
from reame_core.models.download.pull import Pulled, pull
from reame_core.models.download.web import Web
from reame_core.models.folder import ModelsFolder
from reame_core.models.sources.web import WebSource
from tests.download.file_server import FileServer


@dataclass
class Told:
    """A progress that remembers."""

    lines: list[str] = field(default_factory=list)
    counts: list[tuple[int, int | None]] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)

    def begin(self, title: str) -> None:
        self.titles.append(title)

    def update(self, done: int, total: int | None) -> None:
        self.counts.append((done, total))

    def say(self, line: str) -> None:
        self.lines.append(line)

    def end(self) -> None: ...


@dataclass
class Puller:
    """Pulls ``m`` from the server's ``/m.gguf``."""

    server: FileServer
    folder: ModelsFolder
    web: Web
    told: Told = field(default_factory=Told)

    def __call__(self, *, sha256: str | None = None, again: bool = False, path: str = "/m.gguf") -> Pulled:
        source = WebSource(self.server.url + path)
        return pull("m", source, self.folder, web=self.web, progress=self.told, sha256=sha256, again=again)

    def refused(self, *, sha256: str | None = None, path: str = "/m.gguf") -> str:
        with pytest.raises(ModelError) as caught:
            self(sha256=sha256, path=path)
        assert "\n" not in str(caught.value)
        assert not self.folder.models(), "what failed must not look like a model"
        return str(caught.value)

    @property
    def part(self) -> bytes | None:
        path = self.folder.part("m.gguf")
        return path.read_bytes() if path.exists() else None
