"""A file on any web server, or all the parts of a split one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from reame_core.errors import ModelError
from reame_core.models.download.remote import RemoteFile, shown_url
from reame_core.models.model_file import shard_names, shard_stem
from reame_core.models.sources.source import RemoteModel
from reame_core.models.wording import printable

if TYPE_CHECKING:
    from reame_core.models.download.web import Web


@dataclass(frozen=True, slots=True)
class WebSource:
    url: str
    sha256: str | None = None

    @property
    def reference(self) -> str:
        return shown_url(self.url)

    @property
    def suggested_name(self) -> str | None:
        return shard_stem(self._file_name)

    def look_up(self, web: Web) -> RemoteModel:
        """The parts of a split model are named after each other; whether they are there shows when they are
        fetched."""
        name = self._file_name
        if not name.lower().endswith(".gguf"):
            raise ModelError(f"{printable(self.reference)} is not the address of a GGUF file")
        files = tuple(RemoteFile(each, self._beside(each)) for each in shard_names(name))
        return RemoteModel(files, self.reference)

    @property
    def _file_name(self) -> str:
        return unquote(urlsplit(self.url).path.rsplit("/", 1)[-1])

    def _beside(self, name: str) -> str:
        parts = urlsplit(self.url)
        folder = parts.path.rsplit("/", 1)[0]
        return urlunsplit(parts._replace(path=f"{folder}/{quote(name)}", fragment=""))
