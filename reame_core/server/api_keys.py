"""The keys of a server: where they come from and whose a given one is."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from reame_core.config.schema import ServerSettings


class ApiKeys:
    """Named keys. Only hashes are kept, so that no dump or traceback shows a key."""

    def __init__(self, keys: Iterable[tuple[str, str]] = ()) -> None:
        self._keys = tuple((name, _digest(key.encode())) for name, key in keys)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def owner(self, credentials: bytes) -> str | None:
        """The name of the key that equals ``credentials``. All are compared, in constant time, so that how
        long it takes tells nothing."""
        digest = _digest(credentials)
        found: str | None = None
        for name, key in self._keys:
            if hmac.compare_digest(key, digest):
                found = name
        return found


def configured_keys(settings: ServerSettings) -> ApiKeys:
    """The keys of ``server.api_key`` and ``server.keys_file``. Raises ConfigError; no message holds a key."""
    return ApiKeys(key_texts(settings).items())


def key_texts(settings: ServerSettings) -> dict[str, str]:
    """The same keys as they are, by their names: secrets."""
    entries = [(text, "server.api_key") for text in settings.api_key]
    if settings.keys_file is not None:
        entries += [(text, settings.keys_file) for text in _lines(settings.keys_file)]
        if not entries:
            raise ConfigError(f"{settings.keys_file}: there is no key in this file (server.keys_file)")
    keys: dict[str, str] = {}
    for number, (text, origin) in enumerate(entries, 1):
        name, colon, key = text.partition(":")
        if not colon:
            name, key = f"key-{number}", text
        if not key.strip() or not name.strip():
            raise ConfigError(f"{origin}: key {number} is empty, it must be KEY or NAME:KEY")
        if not name.isprintable() or not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigError(f"{origin}: key {number} must be printable ASCII without blanks")
        if name in keys:
            raise ConfigError(f"{origin}: two keys are called {name!r}")
        keys[name] = key
    return keys


def _lines(file: str) -> list[str]:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: not UTF-8 text (server.keys_file)") from None
    except OSError as error:
        raise ConfigError(f"{file}: cannot read the keys: {error.strerror or error}") from None
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
