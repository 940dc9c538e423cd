"""A file on a server."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class RemoteFile:
    name: str
    """Of the file, without a folder."""
    url: str
    size: int | None = None
    """Bytes, where they are known before anything is fetched."""
    sha256: str | None = None
    """What the contents have to have; None where nobody says."""
    headers: tuple[tuple[str, str], ...] = ()
    """To be sent with requests to ``url``; a token among them never reaches another host."""

    @property
    def identity(self) -> str:
        """Equal for what may be put together out of pieces fetched at different times."""
        return self.sha256 or shown_url(self.url)


def shown_url(url: str) -> str:
    """``url`` without what may be a secret: the user, the password, the query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"
