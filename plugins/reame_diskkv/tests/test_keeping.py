"""What was fetched goes onto the disk behind a first token, and before what was computed behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from reame_diskkv.block_file import Block, Header, read_header, write_block
from reame_diskkv.chain import root_key
from reame_diskkv.codec import Compressor
from reame_diskkv.counts import Counts
from reame_diskkv.folder import BlockFolder
from reame_diskkv.keeping import Keeper
from reame_diskkv.room import Limits
from reame_diskkv.store import Store
from reame_diskkv.writer import Writer

from plugins.reame_diskkv.tests.driver import block_files

ROOT = root_key({"model": "fake"}, "", 4)


def file_of(number: int) -> tuple[Header, bytes]:
    """(header, contents) of a block's file."""
    block = Block(ROOT, ROOT, 0, number.to_bytes(4, "big") * 4)
    data = b"".join(write_block(block, bytes(100), Compressor()))
    return read_header(data), data


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    folder = BlockFolder(tmp_path)
    made = Writer(Store(folder, Limits(1 << 20, None), Counts(), print), 1 << 20)
    yield made
    made.close()
    folder.close()


@pytest.fixture
def keeper(writer: Writer) -> Keeper:
    return Keeper(writer, 1000)


def test_nothing_is_written_before_somebody_says_so(keeper: Keeper, writer: Writer, tmp_path: Path) -> None:
    header, data = file_of(1)
    assert keeper.keep(header, data)
    assert writer.flush(60)
    assert keeper.is_pending(header.block.key)
    assert not block_files(tmp_path)
    keeper.begin()
    assert writer.flush(60)
    assert not keeper.is_pending(header.block.key)
    assert len(block_files(tmp_path)) == 1


def test_what_is_computed_behind_it_is_written_behind_it(
    keeper: Keeper, writer: Writer, tmp_path: Path
) -> None:
    header, data = file_of(1)
    keeper.keep(header, data)
    keeper.begin()
    writer.write(Block(ROOT, header.block.key, 4, bytes(16)), bytes(100))
    assert writer.flush(60)
    assert len(block_files(tmp_path)) == 2


def test_what_turned_out_to_be_unusable_is_not_kept(keeper: Keeper, writer: Writer, tmp_path: Path) -> None:
    first, second = file_of(1), file_of(2)
    keeper.keep(*first)
    keeper.keep(*second)
    keeper.discard(first[0].block.key)
    assert writer.flush(60)
    assert [path.stem for path in block_files(tmp_path)] == [second[0].block.key.hex()]


def test_what_waits_is_limited(keeper: Keeper, writer: Writer, tmp_path: Path) -> None:
    taken = [keeper.keep(*file_of(number)) for number in range(20)]
    assert 1 <= sum(taken) < 20
    assert taken == sorted(taken, reverse=True)
    keeper.begin()
    assert writer.flush(60)
    assert len(block_files(tmp_path)) == sum(taken)
    assert keeper.keep(*file_of(20)), "there is room again"
