"""Comparing files with the index: whatever killed processes, other programs and lost indexes have left."""

from __future__ import annotations

from reame_diskkv.block_file import LONGEST_HEADER, DamagedBlock, read_header
from reame_diskkv.counts import Counts
from reame_diskkv.folder import BlockFolder
from reame_diskkv.index import Index


def sweep(index: Index, folder: BlockFolder, shard: int, counts: Counts, now: float) -> None:
    """Make the index say of one of the folder's shards what is there. Raises what disk and index raise."""
    # The index first: others rename before they commit, so a block they add meanwhile has its file.
    listed = index.shard(shard)
    found = {key: (size, written) for key, size, written in folder.blocks_of(shard)}
    lost = listed.keys() - found.keys()
    changed = {key for key in listed.keys() & found.keys() if listed[key] != found[key][0]}
    orphans = found.keys() - listed.keys()
    if not (lost or changed or orphans):
        return
    with index.transaction():
        index.remove(lost)
        for key in orphans | changed:
            size, written = found[key]
            if not _adopt(index, folder, key, size, min(written, now)):
                counts.failures["damaged"] += 1


def _adopt(index: Index, folder: BlockFolder, key: bytes, size: int, stamp: float) -> bool:
    """Add a block by its file; one that is damaged is removed. False in that case."""
    try:
        header = read_header(folder.read_beginning(key, LONGEST_HEADER))
        if header.block.key != key or header.size + header.stored_length != size:
            raise DamagedBlock("another block than its name says, or cut off")
    except FileNotFoundError:
        return True
    except DamagedBlock:
        folder.remove(key)
        index.remove([key])
        return False
    index.add(header.block, header.raw_length, size, stamp)
    return True
