"""Named conversations: their tokens, whose they are, and the blocks that are kept for them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import numpy as np

from reame_core.errors import ReameError, UsageError
from reame_diskkv.chain import encode
from reame_diskkv.folder import BlockFolder
from reame_diskkv.index import Index, IndexBroken, IndexUnusable
from reame_diskkv.lookup import Prompt, longest_chain
from reame_diskkv.session_files import Session, SessionFiles, file_name

MOST_OF_ONE_OWNER = 1000


class SessionTrouble(ReameError):
    """Sessions cannot be read or written at the moment."""


class TooManySessions(UsageError):
    """One owner has as many as there may be."""


class Sessions:
    """Those in a cache's folder. A change is in its file before it is in the index, which only finds them. Any
    thread may call any method; SessionTrouble where disk or index fail."""

    def __init__(self, folder: BlockFolder, files: SessionFiles, block_tokens: int) -> None:
        self._folder = folder
        self._files = files
        self._block_tokens = block_tokens

    def create(self, owner: str, title: str) -> Session:
        """A new one, with a name that nobody can guess. Raises TooManySessions."""
        name = f"sess_{secrets.token_urlsafe(18)}"
        session = Session(id=name, owner=owner, title=title, created=time.time())
        with self._changing() as index:
            [[count]] = index.run("SELECT count(*) FROM session WHERE owner = ?", (owner,))
            if count >= MOST_OF_ONE_OWNER:
                raise TooManySessions(f"there are {count} sessions already: delete some")
            self._files.write(session)
            enter(index, session)
        return session

    def all_of(self, owner: str) -> list[Session]:
        """The latest first."""
        with self._index() as index:
            return _found(index, "WHERE owner = ? ORDER BY created DESC, id", owner)

    def get(self, owner: str, name: str) -> Session | None:
        """None for one that is not there or is somebody else's: the two look the same."""
        with self._index() as index:
            found = _found(index, "WHERE owner = ? AND id = ?", owner, name)
        return found[0] if found else None

    def save(self, session: Session, root: bytes, tokens: tuple[int, ...]) -> int:
        """Remember ``tokens`` and keep their blocks; how many of the tokens are on disk."""
        encoded = encode(np.array(tokens, np.int32))
        saved = msgspec.structs.replace(
            session, saved=time.time(), root=root, encoded=encoded, block_tokens=self._block_tokens
        )
        with self._changing() as index:
            self._files.write(saved)
            enter(index, saved)
            return pin(index, saved)

    def delete(self, owner: str, name: str) -> bool:
        """Whether it was there. Its blocks are kept no longer than others."""
        with self._changing() as index:
            if not _found(index, "WHERE owner = ? AND id = ?", owner, name):
                return False
            self._files.remove(name)
            _forget(index, name)
        return True

    def stored(self, root: bytes, tokens: tuple[int, ...]) -> tuple[int, frozenset[bytes]]:
        """How many of ``tokens`` are on disk, and the keys of the blocks that hold them."""
        prompt = Prompt(root, encode(np.array(tokens, np.int32)), self._block_tokens)
        with self._index() as index:
            steps = longest_chain(index, prompt, 0, len(tokens))
        return (steps[-1].end if steps else 0), frozenset(step.block.key for step in steps)

    @contextmanager
    def _changing(self) -> Iterator[Index]:
        with self._index() as index, index.transaction():
            yield index

    @contextmanager
    def _index(self) -> Iterator[Index]:
        try:
            index = Index(self._folder.path)
            try:
                yield index
            finally:
                index.close()
        except (IndexUnusable, IndexBroken) as error:
            raise SessionTrouble(f"the index of the disk cache cannot be used now: {error}") from error
        except OSError as error:
            raise SessionTrouble(f"the session cannot be stored now: {error.strerror or error}") from error


def compare(index: Index, files: SessionFiles) -> None:
    """Make the index say what the files say. Raises what disk and index raise."""
    # The index first: others write a file before they enter it, so what they add meanwhile has one.
    listed = {file_name(name): name for [name] in index.run("SELECT id FROM session")}
    found = set(files.names())
    # Blocks are found again in any order, and longer ones take the place of those that were pinned.
    loose = f"WHERE saved IS NOT NULL AND id NOT IN ({_PINNED})"
    if listed.keys() == found and not _found(index, loose):
        return
    with index.transaction():
        for file in listed.keys() - found:
            _forget(index, listed[file])
        for file in found - listed.keys():
            session = files.read(file)
            if session is not None:
                enter(index, session)
        for session in _found(index, loose):
            pin(index, session)


def enter(index: Index, session: Session) -> None:
    """Put ``session`` into the index, in the place of an earlier state of it."""
    values = msgspec.structs.astuple(session)
    marks = ", ".join("?" * len(values))
    index.run(f"INSERT OR REPLACE INTO session ({_COLUMNS}) VALUES ({marks})", values)


def pin(index: Index, session: Session) -> int:
    """Keep the blocks of ``session``; how many of its tokens they hold."""
    prompt = Prompt(session.root, session.encoded, session.block_tokens)
    steps = longest_chain(index, prompt, 0, prompt.length)
    if not steps:
        return 0
    index.run(
        "INSERT INTO pin VALUES (?, ?) ON CONFLICT (holder) DO UPDATE SET key = excluded.key",
        (session.id, steps[-1].block.key),
    )
    return steps[-1].end


_COLUMNS = "id, owner, title, created, saved, root, tokens, block_tokens"
_PINNED = "SELECT holder FROM pin JOIN block ON block.key = pin.key"


def _found(index: Index, condition: str, *values: object) -> list[Session]:
    rows = index.run(f"SELECT {_COLUMNS} FROM session {condition}", values)
    names = Session.__struct_fields__
    return [Session(**dict(zip(names, row, strict=True))) for row in rows]


def _forget(index: Index, name: str) -> None:
    index.run("DELETE FROM session WHERE id = ?", (name,))
    index.run("DELETE FROM pin WHERE holder = ?", (name,))
