"""Named conversations: their tokens, whose they are, and the blocks that are kept for them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reame_core.errors import ReameError
from reame_diskkv.chain import TOKEN_BYTES, decode, encode
from reame_diskkv.index import Index, IndexBroken, IndexUnusable
from reame_diskkv.lookup import Prompt, longest_chain

MOST_OF_ONE_OWNER = 1000


class SessionTrouble(ReameError):
    """Sessions cannot be read or written at the moment."""


class TooManySessions(ReameError):
    """One owner has as many as there may be."""


@dataclass(frozen=True, slots=True)
class Session:
    """What is known of one."""

    id: str
    title: str
    created: float
    saved: float | None
    tokens: tuple[int, ...]
    root: bytes
    """Of its chain; empty before it was saved."""


class Sessions:
    """Those in a cache's folder. Any thread may call any method; SessionTrouble where the index fails."""

    def __init__(self, folder: Path, block_tokens: int) -> None:
        self._folder = folder
        self._block_tokens = block_tokens

    def create(self, owner: str, title: str) -> Session:
        """A new one, with a name that nobody can guess. Raises TooManySessions."""
        session = Session(f"sess_{secrets.token_urlsafe(18)}", title, time.time(), None, (), b"")
        with self._index() as index, index.transaction():
            [[count]] = index.run("SELECT count(*) FROM session WHERE owner = ?", (owner,))
            if count >= MOST_OF_ONE_OWNER:
                raise TooManySessions(f"there are {count} sessions already: delete some")
            index.run(
                "INSERT INTO session (id, owner, title, created, tokens) VALUES (?, ?, ?, ?, ?)",
                (session.id, owner, title, session.created, b""),
            )
        return session

    def all_of(self, owner: str) -> list[Session]:
        """The latest first."""
        with self._index() as index:
            return [
                _session(row)
                for row in index.run(f"{_SELECT} WHERE owner = ? ORDER BY created DESC, id", (owner,))
            ]

    def get(self, owner: str, name: str) -> Session | None:
        """None for one that is not there or is somebody else's: the two look the same."""
        with self._index() as index:
            rows = index.run(f"{_SELECT} WHERE owner = ? AND id = ?", (owner, name))
        return _session(rows[0]) if rows else None

    def save(self, owner: str, name: str, root: bytes, tokens: tuple[int, ...]) -> int:
        """Remember ``tokens`` and keep their blocks; how many of the tokens are on disk."""
        encoded = encode(np.array(tokens, np.int32))
        with self._index() as index, index.transaction():
            index.run(
                "UPDATE session SET saved = ?, root = ?, tokens = ? WHERE owner = ? AND id = ?",
                (time.time(), root, encoded, owner, name),
            )
            steps = longest_chain(index, Prompt(root, encoded, self._block_tokens), 0, len(tokens))
            if steps:
                index.run(
                    "INSERT INTO pin VALUES (?, ?) ON CONFLICT (holder) DO UPDATE SET key = excluded.key",
                    (name, steps[-1].block.key),
                )
        return steps[-1].end if steps else 0

    def delete(self, owner: str, name: str) -> bool:
        """Whether it was there. Its blocks are kept no longer than others."""
        with self._index() as index, index.transaction():
            if not index.run("SELECT 1 FROM session WHERE owner = ? AND id = ?", (owner, name)):
                return False
            index.run("DELETE FROM session WHERE id = ?", (name,))
            index.run("DELETE FROM pin WHERE holder = ?", (name,))
        return True

    def stored(self, root: bytes, tokens: tuple[int, ...]) -> tuple[int, int]:
        """How many of ``tokens`` are on disk, and in how many blocks."""
        prompt = Prompt(root, encode(np.array(tokens, np.int32)), self._block_tokens)
        with self._index() as index:
            steps = longest_chain(index, prompt, 0, len(tokens))
        return (steps[-1].end, len(steps)) if steps else (0, 0)

    @contextmanager
    def _index(self) -> Iterator[Index]:
        try:
            index = Index(self._folder)
            try:
                yield index
            finally:
                index.close()
        except (IndexUnusable, IndexBroken) as error:
            raise SessionTrouble(f"the index of the disk cache cannot be used now: {error}") from error


_SELECT = "SELECT id, title, created, saved, tokens, root FROM session"


def _session(row: tuple[str, str, float, float | None, bytes, bytes | None]) -> Session:
    name, title, created, saved, tokens, root = row
    assert len(tokens) % TOKEN_BYTES == 0
    return Session(name, title, created, saved, tuple(decode(tokens)), root or b"")
