"""The table ``[plugins.arca]``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from reame_core.config import plugin_options
from reame_core.errors import ConfigError

LEAST_KEY = 16
"""Characters of a key; fewer could be guessed."""
_SCHEMES = {
    "redis": "redis",
    "rediss": "rediss",
    "unix": "unix",
    "valkey": "redis",
    "valkeys": "rediss",
}

Text = Annotated[str, Meta(min_length=1)]
Milliseconds = Annotated[float, Meta(ge=1, le=10_000)]
Days = Annotated[float, Meta(gt=0, le=3650)]
Megabytes = Annotated[float, Meta(gt=0, le=100_000)]


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """See docs/arca.md."""

    url: Text | None = None
    """``redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]``, ``rediss://`` for TLS, ``unix://PATH``; None turns the
    plugin off."""
    username: Text | None = None
    password: Text | None = None
    password_file: Text | None = None
    """A file with the password alone."""
    cluster: bool = False
    """The server at ``url`` is one of a cluster."""
    sentinels: list[Text] | None = None
    """``HOST:PORT`` of sentinels, which name the server; ``url`` then says the rest, its host is not asked."""
    service: Text = "mymaster"
    """What sentinels call the server."""
    ca_file: Text | None = None
    cert_file: Text | None = None
    key_file: Text | None = None
    """TLS: who vouches for the server; this server's own certificate, and the key to that."""

    prefix: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,64}$")] = "reame"
    """Of every key. Servers with the same one share."""
    secret: Annotated[str, Meta(min_length=LEAST_KEY)] | None = None
    secret_file: Text | None = None
    """Values are encrypted by it, and those of others are refused; the same on all servers."""
    timeout_ms: Milliseconds = 10
    """Longest that a request waits for one answer of the store."""
    patience_ms: Milliseconds = 2000
    """The same for work that nobody waits for."""
    queue_mb: Megabytes = 64
    """Of values that may wait to be written; what is more is not shared."""

    answers: bool = True
    """L1: whole answers."""
    answers_seeded: bool = False
    """Sampled answers as well, where the request has a seed."""
    answers_ttl_days: Days = 7
    answers_max_kb: Annotated[float, Meta(gt=0, le=100_000)] = 256
    """Longer answers are not shared."""
    answers_wait_s: Annotated[float, Meta(ge=0, le=3600)] = 30
    """Longest that a request waits for another server that computes the same; 0 does not wait."""

    similar: bool = False
    """L2: answers to questions that mean the same."""
    similar_model: Text = "all-minilm-l6-v2"
    """The embedding model: a name of the catalogue, or a file."""
    similar_threshold: Annotated[float, Meta(gt=0, le=1)] = 0.8
    """Least cosine of two questions that are taken for the same."""
    similar_wait_ms: Milliseconds = 100
    """Longest that a request waits for its vector."""
    similar_max: Annotated[int, Meta(ge=100, le=1_000_000)] = 10_000
    """Questions of each tenant in the store, and of all in a server's memory; older ones make room."""
    similar_ttl_days: Days = 7

    blocks: bool = True
    """L3: KV cells, through the plugin diskkv."""
    blocks_ttl_days: Days = 2
    blocks_max_mb: Megabytes = 256
    """Larger blocks are not shared."""
    blocks_total_mb: Megabytes = 4096
    """Of blocks in the store, those of all servers together; what was not used for longest makes room."""

    generations: bool = True
    """L4: what was generated, for the drafts of the plugin palimpsest."""
    generations_max: Annotated[int, Meta(ge=100, le=10_000_000)] = 20_000
    """Generations that the store holds for servers that follow later; older ones make room."""
    generations_ttl_days: Days = 30
    """All of them go when none was added for so long."""

    @property
    def address(self) -> str:
        """The url without a password, for people."""
        parts = urlsplit(self.url or "")
        place = parts.netloc.rpartition("@")[2] + parts.path
        return f"{parts.scheme}://{place}"

    @property
    def client_url(self) -> str:
        """The url as the client reads it."""
        scheme, separator, rest = (self.url or "").partition("://")
        return _SCHEMES[scheme] + separator + rest

    def read_password(self) -> str | None:
        """Raises ConfigError for a file that cannot be read."""
        if self.password is not None and self.password_file is not None:
            raise ConfigError("plugins.arca.password and plugins.arca.password_file exclude each other")
        return self.password if self.password_file is None else _content("password_file", self.password_file)

    def read_secret(self) -> bytes | None:
        """Raises ConfigError for a file that cannot be read or holds too little."""
        if self.secret is not None and self.secret_file is not None:
            raise ConfigError("plugins.arca.secret and plugins.arca.secret_file exclude each other")
        text = self.secret if self.secret_file is None else _content("secret_file", self.secret_file)
        if text is None:
            return None
        if len(text) < LEAST_KEY:
            raise ConfigError(
                f"plugins.arca.secret_file must hold at least {LEAST_KEY} characters, not {len(text)}"
                " (openssl rand -base64 32 makes a good one)"
            )
        return text.encode()


def read_options(table: Mapping[str, object]) -> Options:
    """The options of a table, texts from the environment included. Raises ConfigError."""
    options = plugin_options.read_options("arca", table, Options)
    if options.url is not None:
        _check_url(options.url)
    if options.cluster and options.sentinels:
        raise ConfigError("plugins.arca.cluster and plugins.arca.sentinels exclude each other")
    if options.cluster and options.url is not None:
        _check_cluster_url(options.url)
    for name in options.sentinels or ():
        host, _, port = name.rpartition(":")
        if not host or not port.isdigit():
            raise ConfigError(f"plugins.arca.sentinels must hold HOST:PORT, not {name!r}")
    if options.similar and not options.answers:
        raise ConfigError(
            "plugins.arca.similar needs plugins.arca.answers: similar questions are given its answers"
        )
    options.read_password()
    options.read_secret()
    return options


def _check_url(url: str) -> None:
    scheme = url.partition("://")[0]
    if "://" not in url or scheme not in _SCHEMES:
        raise ConfigError(
            "plugins.arca.url must begin with redis://, rediss:// (TLS), valkey://, valkeys:// or unix://"
        )
    try:
        port = urlsplit(url).port
    except ValueError:
        port = -1
    if port is not None and not 0 < port < 65_536:
        raise ConfigError("plugins.arca.url must name a port from 1 to 65535, or none")


def _check_cluster_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "unix" or parts.path.strip("/") not in ("", "0"):
        raise ConfigError(
            "plugins.arca.url must name a host and a port where plugins.arca.cluster is set: a cluster has no"
            " sockets in files and no numbered databases"
        )


def _content(setting: str, file: str) -> str:
    path = Path(os.path.expanduser(file))  # noqa: PTH111 (never raises, unlike Path.expanduser)
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(f"plugins.arca.{setting} {file!r} cannot be read: {why}") from None
