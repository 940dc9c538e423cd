"""What was fetched goes onto the disk behind a first token, by a clock that only moves when told to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from reame_diskkv.block_file import Block, Header, read_header, write_block
from reame_diskkv.chain import root_key
from reame_diskkv.codec import Compressor
from reame_diskkv.counts import Counts
from reame_diskkv.folder import BlockFolder
from reame_diskkv.keeping import DELAY_S, Keeper
from reame_diskkv.room import Limits
from reame_diskkv.store import Store

from plugins.reame_diskkv.tests.driver import block_files
from plugins.reame_diskkv.tests.far import wait_until
from reame_core.testing import FakeClock

ROOT = root_key({"model": "fake"}, "", 4)


def file_of(number: int) -> tuple[Header, bytes]:
    """(header, contents) of a block's file."""
    block = Block(ROOT, ROOT, 0, number.to_bytes(4, "big") * 4)
    data = b"".join(write_block(block, bytes(100), Compressor()))
    return read_header(data), data


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def keeper(tmp_path: Path, clock: FakeClock) -> Iterator[Keeper]:
    folder = BlockFolder(tmp_path)
    made = Keeper(Store(folder, Limits(1 << 20, None), Counts(), print), 1000, clock)
    yield made
    made.close()
    folder.close()


def test_nothing_is_written_before_somebody_says_so(keeper: Keeper, tmp_path: Path) -> None:
    header, data = file_of(1)
    assert keeper.keep(header, data)
    assert keeper.is_pending(header.block.key)
    assert not block_files(tmp_path)
    keeper.begin()
    wait_until(lambda: not keeper.is_pending(header.block.key))
    assert len(block_files(tmp_path)) == 1


def test_or_before_a_while_has_passed(keeper: Keeper, clock: FakeClock, tmp_path: Path) -> None:
    first, second = file_of(1), file_of(2)
    keeper.keep(*first)
    keeper.keep(*second)
    clock.now += DELAY_S
    # Whatever comes makes it look at the clock.
    keeper.discard(first[0].block.key)
    wait_until(lambda: [path.stem for path in block_files(tmp_path)] == [second[0].block.key.hex()])


def test_what_waits_is_limited(keeper: Keeper, tmp_path: Path) -> None:
    taken = [keeper.keep(*file_of(number)) for number in range(20)]
    assert 1 <= sum(taken) < 20
    assert taken == sorted(taken, reverse=True)
    assert keeper.flush(60)
    assert len(block_files(tmp_path)) == sum(taken)


def test_closing_writes_what_waits(keeper: Keeper, tmp_path: Path) -> None:
    keeper.keep(*file_of(1))
    keeper.close()
    assert len(block_files(tmp_path)) == 1
    assert not keeper.keep(*file_of(2))
