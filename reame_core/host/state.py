"""Remembers between runs what has been measured on this host: a small JSON file of keys and values.

Losing it costs a measurement, nothing else. So a file that is missing, damaged, foreign or not writable is
no error: it counts as empty, with one warning in the log.
"""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reame_core.host.owner_files import replace_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

log = logging.getLogger("reame.host")

_FILE = "host.json"
_LARGEST = 4 << 20
_PATIENCE = 1.0
"""Seconds to wait for another process's lock; it is held for the moment of a write."""


class HostState:
    """The store in ``folder``; without a folder it lasts as long as this object.

    Values are whatever JSON can hold. Any thread and any number of processes may use it: each ``put`` adds
    its key to what the file has by then, under a lock where the system has locks, and replaces the file in
    one step. File and folder are made for their owner alone."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / _FILE if folder else None
        self._unsaved: dict[str, object] = {}
        self._warned = False

    @classmethod
    def of_this_user(cls, environ: Mapping[str, str] | None = None) -> HostState:
        """The store in the state directory of the configuration."""
        return cls(state_folder(environ))

    def get(self, key: str) -> object | None:
        """What was put under ``key`` last, by whichever process; None if nothing was."""
        if key in self._unsaved:
            return self._unsaved[key]
        return self._read().get(key)

    def put(self, key: str, value: object) -> None:
        """Remember ``value`` here and for later processes."""
        self._unsaved[key] = value
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(self._path.with_suffix(".lock")):
                replace_text(self._path, json.dumps(self._read() | {key: value}, indent=1))
        except OSError as error:
            self._warn(f"cannot be written ({error.strerror}), so what is measured is forgotten at exit")
        else:
            self._unsaved.pop(key, None)

    def _read(self) -> dict[str, object]:
        if self._path is None:
            return {}
        try:
            with self._path.open("rb") as file:
                content = file.read(_LARGEST + 1)
            values = json.loads(content) if len(content) <= _LARGEST else None
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._warn(f"cannot be read ({error.strerror}), so everything is measured anew")
            return {}
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            self._warn("is damaged and counts as empty, so everything is measured anew")
            return {}
        return values

    def _warn(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            log.warning("%s %s", self._path, what)


def state_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """Where this user's state belongs; None for a user without a home. It need not exist."""
    from reame_core.config.directories import directories

    try:
        folder = directories(environ).state
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows: the last of two simultaneous writers wins whole
        yield
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                # a stopped process must not keep this one from starting
                if time.monotonic() > until:
                    break
                time.sleep(0.005)
            except OSError:  # a file system without locks
                break
        yield
    finally:
        os.close(descriptor)
