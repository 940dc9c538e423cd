"""What ``reame cache`` does to a folder, whether a server uses it or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reame_core.errors import ReameError, UsageError
from reame_diskkv.block_file import DamagedBlock
from reame_diskkv.counts import Counts
from reame_diskkv.folder import SHARDS, BlockFolder
from reame_diskkv.index import Index, IndexBroken, IndexUnusable
from reame_diskkv.options import Options
from reame_diskkv.reading import BlockReader
from reame_diskkv.room import Limits
from reame_diskkv.service import folder_of, limits_of
from reame_diskkv.store import Store


class CacheTrouble(ReameError):
    """The cache's folder or index does not do what it is asked for."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What became of every block."""

    blocks: int
    damaged: int
    """Removed."""
    unreadable: int
    """Left alone, because the disk would not give them."""


@contextmanager
def open_for_reading(options: Options) -> Iterator[Index]:
    """The index as it is. Raises UsageError where there is no cache yet."""
    path = folder_of(options)
    if not (path / "index.db").exists():
        raise UsageError(f"there is no cache in {path} yet")
    try:
        index = Index(path, read_only=True)
    except (IndexUnusable, IndexBroken) as error:
        raise CacheTrouble(f"the index in {path} cannot be read: {error}") from error
    try:
        yield index
    except (IndexUnusable, IndexBroken) as error:
        raise CacheTrouble(f"the index in {path} cannot be read: {error}") from error
    finally:
        index.close()


@contextmanager
def open_for_changing(options: Options, limits: Limits | None = None) -> Iterator[Store]:
    """The store, after index and files have been compared. Raises UsageError where there is no cache yet."""
    path = folder_of(options)
    if not path.exists():
        raise UsageError(f"there is no cache in {path} yet")
    try:
        folder = BlockFolder(path)
    except OSError as error:
        raise CacheTrouble(f"{path} cannot be used: {error.strerror or error}") from error
    troubles: list[str] = []
    store = Store(folder, limits or limits_of(options), Counts(), troubles.append)
    try:
        while store.sweep_step():
            pass
        if store.paused:
            raise CacheTrouble(troubles[-1])
        yield store
    finally:
        store.close()
        folder.close()


def verify(store: Store, progress: Callable[[int], None] = lambda shard: None) -> Verified:
    """Read every block and compare all its checksums; damaged ones are removed."""
    blocks = damaged = unreadable = 0
    reader = BlockReader(store.folder)
    for shard in range(SHARDS):
        progress(shard)
        for key, _, _ in store.folder.blocks_of(shard):
            blocks += 1
            try:
                block, _ = reader.read(key)
                if block.key != key:
                    raise DamagedBlock("another block than its name says")
            except DamagedBlock:
                damaged += 1
                store.folder.remove(key)
                store.discard([key])
            except FileNotFoundError:
                blocks -= 1
            except OSError:
                unreadable += 1
    return Verified(blocks, damaged, unreadable)


def clear(store: Store, *, pinned: bool) -> int:
    """Remove every block, those that are kept for sessions only where ``pinned`` says so; how many."""

    def unpin(index: Index) -> None:
        index.run("DELETE FROM pin")

    if pinned and not store.attempt(unpin):
        raise CacheTrouble("the index cannot be changed")
    before = store.counts.evicted
    store.attempt(store.room.evict_all)
    return store.counts.evicted - before
