"""Reading blocks: from the file to verified cells, on threads of their own while the engine's copies the last
one."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from reame_diskkv.block_file import Block, read_block
from reame_diskkv.codec import Decompressor
from reame_diskkv.folder import BlockFolder
from reame_diskkv.scratch import Scratch

MOST_THREADS = 2
"""With two, copying cells into the KV memory takes about as long as verifying the next ones."""


class BlockReader:
    """For one thread at a time. What it gives is valid until it is asked again."""

    def __init__(self, folder: BlockFolder) -> None:
        self._folder = folder
        self._file = Scratch()
        self._decompressor = Decompressor()

    def reserve(self, size: int) -> None:
        """Get memory for blocks of so many bytes."""
        self._file.reserve(size)
        self._decompressor.reserve(size)

    def read(self, key: bytes, expected: Block | None = None) -> tuple[Block, memoryview]:
        """(block, cells), every checksum compared. Raises DamagedBlock and OSError."""
        return read_block(self._folder.read(key, self._file), expected, self._decompressor)


class ReadingAhead:
    """Gives the cells of block after block while the next ones are being read."""

    def __init__(self, folder: BlockFolder, threads: int) -> None:
        """``threads`` may compute here; no more than ``MOST_THREADS`` are used."""
        count = max(1, min(threads, MOST_THREADS))
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="reame-diskkv-read")
        self._readers = [BlockReader(folder) for _ in range(count + 1)]

    def reserve(self, size: int) -> None:
        """Blocks have so many bytes: get memory for them now, so that no prompt waits for it."""
        # On the threads that will use it: what they allocate on the way is kept by thread, too.
        wait([self._pool.submit(reader.reserve, size) for reader in self._readers])

    def close(self) -> None:
        self._pool.shutdown()

    def results(self, blocks: Sequence[Block]) -> Generator[Future[tuple[Block, memoryview]], None, None]:
        """What ``BlockReader.read`` says of each of ``blocks``, in their order; valid until the next one is
        asked for. To be closed, so that nothing is read any more when more is asked for."""
        under_way: deque[Future[tuple[Block, memoryview]]] = deque()
        ahead = 0
        try:
            for taken in range(len(blocks)):
                # Whoever asks for this one is done with the one before, whose reader is free again.
                for block in blocks[ahead : taken + len(self._readers)]:
                    reader = self._readers[ahead % len(self._readers)]
                    under_way.append(self._pool.submit(reader.read, block.key, block))
                    ahead += 1
                yield under_way.popleft()
        finally:
            wait([future for future in under_way if not future.cancel()])
