"""A tier behind the disk: what one server computed starts another, and whatever comes is checked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from reame_diskkv.block_file import Header, read_header
from reame_diskkv.chain import KEY_BYTES
from reame_diskkv.codec import Bytes
from reame_diskkv.tiers import FarBlock, Link

from plugins.reame_diskkv.tests.driver import (
    BLOCK,
    NAMESPACE,
    Server,
    block_files,
    branch,
    plain,
    request,
    server,
    words,
)
from plugins.reame_diskkv.tests.far import PATIENCE, Cupboard, connected, wait_until
from reame_core.plugins.api import PluginContext
from reame_core.testing import FakeBackend

LONG = words(100)
WHOLE = 96
"""Tokens of LONG in whole blocks."""


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine what is far may take longer than users would wait."""
    monkeypatch.setattr("reame_core.engine.restoring.MOST_WAITED_S", 5.0)


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Cupboard]:
    """What a server left that was asked LONG."""
    cupboard = Cupboard()
    with connected(tmp_path / "a", cupboard) as first:
        first.ask(LONG)
    cupboard.found.clear()
    yield cupboard
    cupboard.gate.set()


def test_what_one_server_computed_starts_another(far: Cupboard, tmp_path: Path) -> None:
    expected = plain(request(LONG))[0]
    with connected(tmp_path / "b", far) as second:
        answer = second.ask(LONG)
        assert answer.said == expected
        assert answer.usage.reused == {"diskkv": 99}
        assert answer.usage.computed == 1
        assert (second.counts.far_lookups, second.counts.far_hits) == (1, 1)
        assert (second.counts.lookups, second.counts.hits) == (1, 0), "the disk itself had nothing"
    with server(tmp_path / "b") as alone:
        assert alone.ask(LONG).restored == 99, "what was fetched is on the disk"


@pytest.mark.parametrize("common", [BLOCK - 1, BLOCK, BLOCK + 1, 50, WHOLE, 99])
def test_another_question_behind_the_same_text(far: Cupboard, tmp_path: Path, common: int) -> None:
    other = branch(LONG, common, 140)
    with connected(tmp_path / "b", far) as second:
        answer = second.ask(other)
        assert answer.said == plain(request(other))[0]
        assert answer.restored == common


def test_what_the_disk_has_is_not_fetched(far: Cupboard, tmp_path: Path) -> None:
    with server(tmp_path / "b") as alone:
        alone.ask(LONG[:50])
    with connected(tmp_path / "b", far) as second:
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 99
        assert len(far.fetched) == 4, "the fourth block, of which the disk has two tokens, and those behind it"


def test_what_memory_has_is_not_fetched(far: Cupboard, tmp_path: Path) -> None:
    with connected(tmp_path / "b", far) as second:
        second.ask(LONG)
        far.fetched.clear()
        answer = second.ask((*LONG, *words(20, salt=5)[1:]))
        assert answer.usage.reused["ram"] >= 99
        assert far.fetched == []


def test_nothing_is_offered_that_came_from_there(far: Cupboard, tmp_path: Path) -> None:
    before = dict(far.files)
    with connected(tmp_path / "b", far) as second:
        second.ask(LONG)
    assert far.files == before


def test_the_engine_s_thread_asks_nobody(far: Cupboard, tmp_path: Path) -> None:
    with connected(tmp_path / "b", far) as second:
        second.ask(LONG)
    assert far.threads == {"reame-diskkv-fetch"}


def test_others_go_on_while_one_waits(far: Cupboard, tmp_path: Path) -> None:
    other = request(words(4, salt=8), 40)  # too short to ask anybody
    with connected(tmp_path / "b", far) as second:
        far.gate.clear()
        [talking] = second.submit(other)
        [answer] = second.submit(request(LONG))
        while talking.finished is None:
            second.engine.step()
        assert not answer.tokens
        far.gate.set()
        second.run()
        assert talking.said == plain(other)[0]
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored + answer.usage.reused.get("ram", 0) == 99


def test_users_who_want_the_same_fetch_it_once(far: Cupboard, tmp_path: Path) -> None:
    asked = [request(branch(LONG, WHOLE, 110, salt)) for salt in range(4)]
    with connected(tmp_path / "b", far) as second:
        answers = second.play(*asked)
        assert [answer.said for [answer] in answers] == [plain(each)[0] for each in asked]
        assert [answer.restored for [answer] in answers] == [WHOLE, 0, 0, 0]
    assert len(set(far.fetched)) == len(far.fetched)


def test_who_waits_too_long_computes(far: Cupboard, tmp_path: Path) -> None:
    far.patience_s = 0.01
    with connected(tmp_path / "b", far) as second:
        far.gate.clear()
        [[answer]] = second.play(request(LONG))
        assert answer.said == plain(request(LONG))[0]
        assert answer.usage.computed == 100
        assert second.counts.far_late == 1
        far.gate.set()


def test_cancelled_while_it_waits(far: Cupboard, tmp_path: Path) -> None:
    with connected(tmp_path / "b", far) as second:
        far.gate.clear()
        [answer] = second.submit(request(LONG))
        second.engine.step()
        second.engine.cancel(second.group)
        far.gate.set()
        second.run()
        assert answer.finished is not None
        assert answer.finished.reason == "cancelled"
        assert second.ask(LONG).said == plain(request(LONG))[0]


@pytest.mark.parametrize("lost", [0, 1, 3, 5])
def test_a_chain_ends_where_a_block_is_gone(far: Cupboard, tmp_path: Path, lost: int) -> None:
    chain = sorted(far.files.values(), key=lambda held: held[0].start)
    del far.files[chain[lost][0].key]
    with connected(tmp_path / "b", far) as second:
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == BLOCK * lost


def test_a_block_that_goes_between_finding_and_fetching(far: Cupboard, tmp_path: Path) -> None:
    far.spoil = lambda data: None if read_header(data).block.start == 2 * BLOCK else data
    with connected(tmp_path / "b", far) as second:
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 2 * BLOCK
        assert second.counts.failures["far"] == 1


def flipped(at: int) -> Callable[[bytes], bytes]:
    def spoil(data: bytes) -> bytes:
        spoilt = bytearray(data)
        spoilt[at] ^= 16
        return bytes(spoilt)

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        *(flipped(at) for at in (0, 9, 30, 70, 90, 100, 150, 250, -300, -1)),
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:50],
        lambda data: b"",
        lambda data: b"garbage" * 1000,
    ],
)
def test_bits_that_have_flipped(far: Cupboard, tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    far.spoil = spoil
    with connected(tmp_path / "b", far) as second:
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.usage.computed == 100
        assert second.counts.failures["damaged"] == 1
        assert len(far.discarded) == 1


def test_the_right_checksums_over_other_cells(far: Cupboard, tmp_path: Path) -> None:
    """Stored cells that fit their checksum and are not what was compressed: found out when they are read."""
    from reame_diskkv.block_file import _FIXED, checksum

    def spoil(data: bytes) -> bytes:
        header = read_header(data)
        if header.block.start != 2 * BLOCK:
            return data
        payload = bytearray(data[header.size :])
        payload[len(payload) // 2] ^= 1
        fixed = bytearray(data[: _FIXED.size])
        fixed[-16:] = checksum(bytes(payload))
        tokens = header.block.tokens
        return bytes(fixed) + tokens + checksum(bytes(fixed), tokens) + bytes(payload)

    far.spoil = spoil
    with connected(tmp_path / "b", far) as second:
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 2 * BLOCK
        assert second.counts.failures["damaged"] == 1
    assert far.discarded == far.fetched[2:3], "nobody shall fetch it again"
    with server(tmp_path / "b") as alone:
        assert alone.ask(LONG).restored == 99, "the right one has taken its place"


@pytest.mark.parametrize("other", ["place", "model", "text"])
def test_a_sound_block_that_is_not_the_one_asked_for(tmp_path: Path, far: Cupboard, other: str) -> None:
    elsewhere = Cupboard()
    arguments = {"namespace": {**NAMESPACE, "model": "another"}} if other == "model" else {}
    with connected(tmp_path / "c", elsewhere, **arguments) as third:
        third.ask(words(100, salt=3) if other == "text" else LONG)
    files = sorted(elsewhere.files.values(), key=lambda held: -held[0].start if other == "place" else 0)
    far.spoil = lambda data: files[0][1]
    with connected(tmp_path / "b", far) as second:
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 0
        assert second.counts.failures["damaged"] == 1


def test_tenants_do_not_see_each_other(tmp_path: Path) -> None:
    far = Cupboard()
    with connected(tmp_path / "a", far) as first:
        first.ask(LONG, tenant="a")
    for number, (tenant, computed) in enumerate((("b", 100), ("", 100), ("a", 1))):
        with connected(tmp_path / f"b{number}", far) as each:
            assert each.ask(LONG, tenant=tenant).usage.computed == computed


@pytest.mark.parametrize("changed", [{"model": "fake, quantised"}, {"kv_cache_type": "q8_0"}, {"build": "2"}])
def test_other_cells_are_never_fetched(far: Cupboard, tmp_path: Path, changed: dict[str, str]) -> None:
    with connected(tmp_path / "b", far, namespace={**NAMESPACE, **changed}) as second:
        assert second.ask(LONG).usage.computed == 100
    assert far.fetched == []


def test_a_far_tier_that_is_not_available_is_not_asked(far: Cupboard, tmp_path: Path) -> None:
    far.available = False
    with connected(tmp_path / "b", far) as second:
        assert second.ask(LONG).usage.computed == 100
    assert far.found == []


def test_a_far_tier_that_raises_costs_nothing_but_speed(
    far: Cupboard, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def spoil(data: bytes) -> bytes:
        raise RuntimeError("the cupboard is bare")

    far.spoil = spoil
    with connected(tmp_path / "b", far) as second:
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert second.counts.failures["far"] == 1
    assert "fetching from a far tier has failed" in caplog.messages


@pytest.mark.parametrize("window", [8, 40])
def test_sliding_windows(tmp_path: Path, window: int) -> None:
    far, prompt = Cupboard(), words(120)
    size = min(BLOCK, window)
    for name in ("a", "b"):
        with connected(tmp_path / name, far, backend=FakeBackend(cells=512, window=window)) as each:
            answer = each.ask(prompt, 20)
            assert answer.said == plain(request(prompt, 20), window=window)[0]
    if size == BLOCK:
        assert answer.restored == 119


def test_what_takes_longer_than_computing_is_not_fetched(far: Cupboard, tmp_path: Path) -> None:
    with connected(tmp_path / "b", far, measured=True, measured_prices=True) as second:
        prices = second.service.fetcher.prices
        second.service.cache.prices.computed(1000, 1.0)
        prices.took(1, 1.0)
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.usage.computed == 100
        assert second.counts.far_unprofitable == 1
        assert far.fetched == []


def test_the_first_time_it_is_tried_whatever_it_takes(far: Cupboard, tmp_path: Path) -> None:
    with connected(tmp_path / "b", far, measured=True) as second:
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 99
        assert second.service.fetcher.prices.fetch_ms is not None
        assert second.service.fetcher.prices.ask_ms is not None


def test_what_the_disk_has_no_room_for_is_restored_all_the_same(far: Cupboard, tmp_path: Path) -> None:
    with connected(tmp_path / "b", far, options={"max_size_mb": 0.0001}) as second:
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 99
    assert not block_files(tmp_path / "b")


@pytest.fixture
def held() -> Iterator[Callable[[Server], threading.Event]]:
    """Holds the thread that writes what was fetched until the event is set."""
    gates: list[threading.Event] = []

    def hold(server: Server) -> threading.Event:
        gate, store = threading.Event(), server.service.cache.store
        gates.append(gate)
        adopt = store.adopt

        def wait(header: Header, data: Bytes) -> bool:
            assert gate.wait(PATIENCE)
            return adopt(header, data)

        store.adopt = wait  # type: ignore[method-assign]
        return gate

    yield hold
    for gate in gates:
        gate.set()


Hold = Callable[[Server], threading.Event]


def test_nobody_waits_for_the_disk(far: Cupboard, tmp_path: Path, held: Hold) -> None:
    with connected(tmp_path / "b", far) as second:
        gate = held(second)
        [[answer]] = second.play(request(LONG))
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 99
        assert not block_files(tmp_path / "b")
        gate.set()
        assert second.service.flush(PATIENCE)
        assert len(block_files(tmp_path / "b")) == 7


def test_what_is_about_to_be_written_is_not_exported(far: Cupboard, tmp_path: Path, held: Hold) -> None:
    with connected(tmp_path / "b", far) as second:
        gate = held(second)
        second.play(request((*LONG[:WHOLE], 97), 1))
        assert second.counts.exported_blocks == 1, "its own end"
        gate.set()


def test_what_waits_to_be_written_is_limited(far: Cupboard, tmp_path: Path, held: Hold) -> None:
    with connected(tmp_path / "b", far) as second:
        second.service.fetcher.keeper._limit = 1
        gate = held(second)
        [[answer]] = second.play(request(LONG))
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 99
        gate.set()
        assert second.service.flush(PATIENCE)
        assert len(block_files(tmp_path / "b")) == 7
        assert second.counts.exported_blocks == 6, "what was not kept is like what was computed here"


def test_what_waits_to_be_restored_is_limited(far: Cupboard, tmp_path: Path) -> None:
    with connected(tmp_path / "b", far) as second:
        [answer] = second.submit(request(LONG))
        second.engine.step()
        free = second.service.fetcher._open._free
        wait_until(lambda: not free and len(far.fetched) == 4)
        second.run()
        assert answer.said == plain(request(LONG))[0]
        assert len(far.fetched) == 7
        wait_until(lambda: len(free) == 4)


def test_who_gives_up_leaves_nothing_behind(far: Cupboard, tmp_path: Path) -> None:
    with connected(tmp_path / "b", far) as second:
        second.submit(request(LONG))
        second.engine.step()
        free = second.service.fetcher._open._free
        wait_until(lambda: not free)
        # Nothing of it was in memory: no hook is told.
        second.engine.cancel(second.group)
        second.run()
        fetcher = second.service.fetcher
        now = fetcher._clock()
        fetcher._clock = lambda: now + 3
        answer = second.ask(LONG)
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 99
        wait_until(lambda: len(free) == 4)


class Choosy(FakeBackend):
    """Refuses the cells of one place."""

    def import_range(self, sequence: int, start: int, end: int, *rest: Any) -> bool:
        return start != 2 * BLOCK and super().import_range(sequence, start, end, *rest)


def test_cells_that_are_refused_are_not_fetched_again(far: Cupboard, tmp_path: Path, held: Hold) -> None:
    with connected(tmp_path / "b", far, backend=Choosy(cells=1024)) as second:
        gate = held(second)
        [[answer]] = second.play(request(LONG))
        assert answer.said == plain(request(LONG))[0]
        assert answer.restored == 2 * BLOCK
        assert second.counts.failures["refused"] == 1
        gate.set()
    assert far.discarded == far.fetched[2:3]


def test_plugins_find_the_near_tier_by_what_it_offers(tmp_path: Path) -> None:
    from reame_diskkv.plugin import DiskKV
    from reame_diskkv.tiers import NearTier

    backend, plugin, far = FakeBackend(), DiskKV(), Cupboard()
    context = PluginContext(backend.info, {"folder": str(tmp_path)}, NAMESPACE)
    plugin.startup(context)
    context.offers.take(NearTier, lambda near: near.attach(far))
    assert plugin.service is not None
    assert plugin.service.fetcher.wanted_by(request(LONG))
    plugin.shutdown()


def test_closing_while_something_is_under_way(far: Cupboard, tmp_path: Path) -> None:
    with connected(tmp_path / "b", far) as second:
        far.gate.clear()
        second.submit(request(LONG))
        second.engine.step()
        threading.Timer(0.05, far.gate.set).start()
        second.plugin.shutdown()
        assert far.gate.wait(PATIENCE)


def test_keys_are_those_of_the_block_files(far: Cupboard) -> None:
    assert all(len(key) == KEY_BYTES and key == block.key for key, (block, _) in far.files.items())


def test_a_server_without_a_far_tier_waits_for_nothing(tmp_path: Path) -> None:
    with server(tmp_path) as alone:
        assert isinstance(alone, Server)
        assert alone.ask(LONG).usage.computed == 100
        assert alone.counts.far_lookups == 0


def test_a_request_may_keep_its_blocks_from_there(tmp_path: Path) -> None:
    far = Cupboard()
    with connected(tmp_path / "a", far) as first:
        first.ask(LONG, extra={"far": False})
        assert far.files == {}
        assert far.found == []
        first.forget()
        assert first.ask(LONG, extra={"far": False}).restored == 99, "the disk is no far tier"


class Stuck(Cupboard):
    """Finds at once, and fetches only when the gate is opened again."""

    def find(self, links: Sequence[Link]) -> Sequence[FarBlock]:
        found = super().find(links)
        self.patience_s = 0.01
        self.gate.clear()
        return found


def test_who_waited_in_vain_knows_that_it_takes_long(far: Cupboard, tmp_path: Path) -> None:
    stuck = Stuck()
    stuck.files = far.files
    with connected(tmp_path / "b", stuck, measured=True) as second:
        [[answer]] = second.play(request(LONG))
        assert answer.said == plain(request(LONG))[0]
        assert answer.usage.computed == 100
        assert second.counts.far_late == 1
        prices = second.service.fetcher.prices
        stuck.gate.set()
    assert prices.fetch_ms is not None
    assert prices.fetch_ms > 1e-5
