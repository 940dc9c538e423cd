"""From the text of a source to the source."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from reame_core.models.sources.hub import HubSource, hub_endpoint
from reame_core.models.sources.local import LocalSource
from reame_core.models.sources.package import PackageSource
from reame_core.models.sources.source import Source
from reame_core.models.sources.web import WebSource
from reame_core.models.wording import printable

_HUB = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?(?::(?P<file>.+))?", re.ASCII)
_HUB_PAGE = re.compile(r"/(?P<repository>[\w.-]+/[\w.-]+)/(?:resolve|blob)/(?P<revision>[^/]+)/(?P<file>.+)")
_PACKAGE = re.compile(r"(?P<module>[\w.]+):(?P<pattern>[^/\\].*)", re.ASCII)
_HUB_HOSTS = frozenset({"huggingface.co", "hf.co", "www.huggingface.co"})
_SCHEMES = ("hf:", "http://", "https://", "package:")


def is_reference(text: str) -> bool:
    """Whether ``text`` is a source with a scheme, rather than a name or a path."""
    return text.lower().startswith(_SCHEMES)


def parse_source(text: str, *, base: Path | None = None, install: str | None = None) -> Source:
    """The source that ``text`` means. A relative path counts from ``base``. Raises ValueError with the rest of
    a sentence that begins with what the text is for."""
    if "\0" in text:
        raise ValueError("must not hold a NUL character")
    scheme, _, rest = text.partition(":")
    match scheme.lower():
        case "hf":
            return _hub(rest)
        case "http" | "https":
            return _web(text)
        case "package":
            if found := _PACKAGE.fullmatch(rest):
                return PackageSource(found["module"], found["pattern"], install)
            raise ValueError(f"must be package:MODULE:PATTERN, not {printable(text)!r}")
        case _:
            path = Path(text)
            try:
                path = path.expanduser()
            except RuntimeError:
                raise ValueError(f"{printable(text)!r} begins with a home that is not known") from None
            return LocalSource(base / path if base is not None else path)


def _hub(text: str) -> HubSource:
    found = _HUB.fullmatch(text)
    if not found:
        raise ValueError(f"must be hf:ORG/REPO or hf:ORG/REPO:FILE, not {printable('hf:' + text)!r}")
    return HubSource(found["repository"], found["revision"], found["file"])


def _web(url: str) -> Source:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise ValueError(f"{printable(url)!r} is no address")
    # The page of a file is what people copy from their browser; the file is one word further.
    on_hub = host in _HUB_HOSTS or f"{parts.scheme}://{parts.netloc}" == hub_endpoint()
    if on_hub and (found := _HUB_PAGE.fullmatch(parts.path)):
        revision = None if found["revision"] == "main" else unquote(found["revision"])
        return HubSource(found["repository"], revision, unquote(found["file"]))
    return WebSource(url)
