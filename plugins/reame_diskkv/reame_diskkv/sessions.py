"""Named conversations: their tokens, whose they are, and the blocks that are kept for them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import msgspec
import numpy as np

from reame_core.errors import ReameError, UsageError
from reame_diskkv.chain import encode
from reame_diskkv.folder import BlockFolder
from reame_diskkv.index import Index, IndexBroken, IndexUnusable
from reame_diskkv.lookup import Prompt, Step, longest_chain
from reame_diskkv.room import Room
from reame_diskkv.session_files import Session, SessionFiles, file_name, file_size

MOST_OF_ONE_OWNER = 1000


class SessionTrouble(ReameError):
    """Sessions cannot be read or written at the moment."""


class NoRoom(ReameError):
    """A session would be above the limit, and only sessions are left that could make room."""


class NotStored(ReameError):
    """A text is not on disk as far as it should be."""


class TooManySessions(UsageError):
    """One owner has as many as there may be."""


class Sessions:
    """Those in a cache's folder. A change is in its file before it is in the index, which only finds them. Any
    thread may call any method; SessionTrouble where disk or index fail."""

    def __init__(self, folder: BlockFolder, files: SessionFiles, block_tokens: int, room: Room) -> None:
        self._folder = folder
        self._files = files
        self._block_tokens = block_tokens
        self._room = room

    def create(self, owner: str, title: str) -> Session:
        """A new one, with a name that nobody can guess. Raises TooManySessions and NoRoom."""
        name = f"sess_{secrets.token_urlsafe(18)}"
        session = Session(id=name, owner=owner, title=title, created=time.time())
        with self._changing(file_size(session)) as index:
            [[count]] = index.run("SELECT count(*) FROM session WHERE owner = ?", (owner,))
            if count >= MOST_OF_ONE_OWNER:
                raise TooManySessions(f"there are {count} sessions already: delete some")
            enter(index, session, self._files.write(session))
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
        """Remember ``tokens`` and keep their blocks; how many of the tokens are on disk. Raises NoRoom, or
        NotStored where more than the last token is not: then the session is what it was before."""
        encoded = encode(np.array(tokens, np.int32))
        saved = msgspec.structs.replace(
            session, saved=time.time(), root=root, encoded=encoded, block_tokens=self._block_tokens
        )
        with self._changing(file_size(saved), saved) as index:
            steps = chain_of(index, saved)
            stored = steps[-1].end if steps else 0
            if stored < len(tokens) - 1:
                self._complain(index, steps, stored, len(tokens))
            enter(index, saved, self._files.write(saved))
            return pin(index, saved)

    def _complain(self, index: Index, steps: list[Step], stored: int, wanted: int) -> NoReturn:
        own = {step.block.key for step in steps if step.whole}
        if all(leaf.key in own for leaf in index.leaves(2)):
            raise self._no_room()
        raise NotStored(
            f"only {stored} of the session's {wanted} tokens could be stored: the disk or "
            "plugins.diskkv.max_size_mb may be too small, or the writer behind"
        )

    def _no_room(self) -> NoRoom:
        return NoRoom(
            "there is no room for this: what sessions keep may not take more than plugins.diskkv.max_size_mb, "
            f"{self._room.limits.max_bytes / 1e6:,g} MB, and is never removed for others; delete sessions that "
            "are of no use any more, or raise the limit"
        )

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
    def _changing(self, size: int = 0, session: Session | None = None) -> Iterator[Index]:
        """With room for ``size`` more bytes, as far as it can be made of what nobody keeps, nor ``session`` is
        about to keep. Raises NoRoom."""
        with self._index() as index:
            own = chain_of(index, session) if session is not None else []
            # What is evicted is the end of a chain: with its last block all of it stays.
            if size and not self._room.make(index, size, own[-1].block.key if own else b""):
                raise self._no_room()
            with index.transaction():
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
    rows = index.run("SELECT id, file_bytes FROM session")
    names = {file_name(name): name for name, _ in rows}
    listed, found = {file_name(name): size for name, size in rows}, files.sizes()
    # Blocks are found again in any order, and longer ones take the place of those that were pinned.
    loose = f"WHERE saved IS NOT NULL AND id NOT IN ({_PINNED})"
    if listed == found and not _found(index, loose):
        return
    with index.transaction():
        for file in listed.keys() - found.keys():
            _forget(index, names[file])
        for file, size in found.items() - listed.items():
            session = files.read(file)
            if session is not None:
                enter(index, session, size)
        for session in _found(index, loose):
            pin(index, session)


def enter(index: Index, session: Session, size: int) -> None:
    """Put ``session``, a file of ``size`` bytes, into the index, in the place of an earlier state of it."""
    values = (*msgspec.structs.astuple(session), size)
    columns = [*_COLUMNS.split(", "), "file_bytes"]
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns)
    marks = ", ".join("?" * len(values))
    index.run(
        f"INSERT INTO session ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET {changes}",
        values,
    )


def chain_of(index: Index, session: Session) -> list[Step]:
    """The stored blocks of ``session``."""
    prompt = Prompt(session.root, session.encoded, session.block_tokens)
    return longest_chain(index, prompt, 0, prompt.length)


def pin(index: Index, session: Session) -> int:
    """Keep the blocks of ``session``; how many of its tokens they hold."""
    steps = chain_of(index, session)
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
