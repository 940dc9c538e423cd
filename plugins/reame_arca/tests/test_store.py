"""A real store that is away, slow, full or lying, and what asking it costs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from time import monotonic

import pytest
from reame_arca.breaker import CircuitBreaker
from reame_arca.large import PIECE, has, read_large, read_small, write_large
from reame_arca.options import Options
from reame_arca.sealing import Space
from reame_arca.store import Refused, Store, Unavailable

from plugins.reame_arca.tests.proxy import Proxy
from plugins.reame_arca.tests.real_store import RealStore, free_port, wait_until

SPACE = Space("reame", "test", {}, "", None)
NAME = SPACE.name(b"x")


@pytest.fixture
def opened() -> Iterator[list[Store]]:
    """Stores to be closed at the end."""
    stores: list[Store] = []
    yield stores
    for each in stores:
        each.close(0.1)


@pytest.fixture
def shared(store: RealStore, opened: list[Store]) -> Store:
    return open_store(opened, store.url)


@pytest.fixture
def behind(proxy: Proxy, opened: list[Store]) -> Store:
    """The store as it is seen through the proxy, by somebody without patience."""
    return open_store(opened, proxy.url, timeout_ms=300, patience_ms=500)


def open_store(opened: list[Store], url: str, **options: object) -> Store:
    # On a busy machine an answer may take longer than any limit one would set.
    chosen = Options(url=url, **{"timeout_ms": 3000, "patience_ms": 5000, **options})  # type: ignore[arg-type]
    store = Store.at(chosen)
    store.breaker = CircuitBreaker(monotonic, pause_s=0.02)
    opened.append(store)
    return store


def ask_until_open(store: Store) -> None:
    def open_by_now() -> bool:
        with contextlib.suppress(Unavailable):
            store.ask(lambda client: client.get("x"))
        return not store.available

    wait_until(open_by_now)


def works(store: Store) -> bool:
    try:
        return store.ask(lambda client: client.set("x", b"1")) is True
    except Unavailable:
        return False


def test_what_is_written_later_is_there_in_the_end(shared: Store, store: RealStore) -> None:
    assert shared.later(10, lambda client: client.set("a", b"1"))
    assert shared.flush(10)
    assert shared.ask(lambda client: client.get("a")) == b"1"
    assert shared.counts.get("writes", "done") == 1


def test_nobody_asks_a_store_that_is_away_until_it_is_there_again(shared: Store, store: RealStore) -> None:
    assert works(shared)
    store.kill()
    ask_until_open(shared)
    assert not shared.later(1, lambda client: client.set("a", b"1"))
    store.start()
    wait_until(lambda: works(shared))
    assert shared.breaker.opened == 1


def test_a_store_that_was_never_there(opened: list[Store]) -> None:
    nowhere = open_store(opened, f"redis://127.0.0.1:{free_port()}")
    ask_until_open(nowhere)


@pytest.mark.parametrize("way", ["ask", "patiently"])
def test_a_store_that_hangs_is_given_up(opened: list[Store], store: RealStore, way: str) -> None:
    shared = open_store(opened, store.url, timeout_ms=300, patience_ms=500)
    wait_until(lambda: works(shared))
    store.pause()
    if way == "ask":
        ask_until_open(shared)
    else:
        with pytest.raises(Unavailable):
            shared.patiently(lambda client: client.get("x"))
        ask_until_open(shared)
    store.resume()
    wait_until(lambda: works(shared))


def test_a_slow_store_is_given_up(behind: Store, proxy: Proxy) -> None:
    wait_until(lambda: works(behind))
    proxy.delay_s = 1.0
    ask_until_open(behind)
    proxy.delay_s = 0.0
    wait_until(lambda: works(behind))


def test_an_answer_that_comes_byte_by_byte_is_not_awaited(opened: list[Store], proxy: Proxy) -> None:
    dripping = open_store(opened, proxy.url, timeout_ms=1000)
    wait_until(lambda: works(dripping))
    dripping.patiently(lambda client: client.set("long", b"x" * 10_000))
    proxy.drip(0.02)
    with pytest.raises(Unavailable):
        dripping.ask(lambda client: client.get("long"))


@pytest.mark.parametrize(
    "answer", [b"garbage", b"$999999999999\r\n", b"*3\r\n:1\r\n", b":-\r\n", b"%1\r\n", b""]
)
def test_a_store_that_talks_nonsense_is_given_up(behind: Store, proxy: Proxy, answer: bytes) -> None:
    wait_until(lambda: works(behind))
    proxy.spoil = lambda _: answer or None
    ask_until_open(behind)
    proxy.spoil = lambda right: right
    wait_until(lambda: works(behind))


def test_random_answers(behind: Store, proxy: Proxy) -> None:
    wait_until(lambda: works(behind))
    proxy.lie()
    ask_until_open(behind)


def test_a_full_store_still_answers_and_is_not_written_to(shared: Store, store: RealStore) -> None:
    assert works(shared)
    store.fill()
    with pytest.raises(Refused):
        shared.ask(lambda client: client.set("big", b"x" * 100_000))
    assert not shared.takes_values
    assert not shared.later(1, lambda client: client.set("a", b"1"))
    assert shared.ask(lambda client: client.get("x")) == b"1"
    assert shared.available


def test_a_wrong_password_is_a_store_that_is_away(store: RealStore, opened: list[Store]) -> None:
    with store.client() as client:
        client.config_set("requirepass", "right")
    ask_until_open(open_store(opened, store.url, password="wrong"))
    assert works(open_store(opened, store.url, password="right"))


def test_an_acl_user(store: RealStore, opened: list[Store]) -> None:
    with store.client() as client:
        client.execute_command("ACL", "SETUSER", "reame", "on", ">word", "~*", "+@all")
    assert works(open_store(opened, store.url, username="reame", password="word"))
    assert works(open_store(opened, store.url.replace("redis://", "valkey://reame:word@")))


def test_what_may_wait_is_limited(opened: list[Store], store: RealStore) -> None:
    shared = open_store(opened, store.url, queue_mb=0.001)
    hold = threading.Event()
    assert shared.later(1, lambda client: hold.wait(20))
    wait_until(lambda: shared._later.waiting_bytes == 0)
    assert shared.later(900, lambda client: client.set("a", b"1"))
    assert not shared.later(900, lambda client: client.set("b", b"1"))
    hold.set()
    assert shared.flush(20)
    assert store.names() == ["a"]
    assert shared.counts.get("writes", "dropped") == 1


def test_nothing_waits_for_a_closed_store(shared: Store) -> None:
    shared.close()
    with pytest.raises(Unavailable):
        shared.ask(lambda client: client.get("x"))
    assert not shared.later(1, lambda client: client.set("a", b"1"))


@pytest.mark.parametrize("size", [0, 1, PIECE - 100, PIECE, 10 * PIECE + 7])
def test_large_values_come_back_whole(shared: Store, store: RealStore, size: int) -> None:
    payload = bytes(range(256)) * (size // 256) + bytes(size % 256)
    shared.ask(lambda client: write_large(client, SPACE, NAME, [payload], 100), 20)
    assert shared.ask(lambda client: has(client, NAME))
    assert shared.ask(lambda client: read_large(client, SPACE, NAME, size), 20) == payload
    with store.client() as client:
        assert all(0 < client.pttl(name) <= 100_000 for name in store.names())


@pytest.mark.parametrize("spoil", ["a piece is gone", "a piece is another", "pieces are exchanged", "the head"])
def test_spoilt_large_values_are_none(shared: Store, store: RealStore, spoil: str) -> None:
    payload = bytes(3 * PIECE)
    shared.ask(lambda client: write_large(client, SPACE, NAME, [payload], 100), 20)
    pieces = [name for name in store.names() if name != NAME]
    with store.client() as client:
        if spoil == "a piece is gone":
            client.delete(pieces[1])
        elif spoil == "a piece is another":
            client.setrange(pieces[1], 100, b"x")
        elif spoil == "pieces are exchanged":
            client.rename(pieces[0], pieces[1])
        else:
            client.setrange(NAME, 50, b"x")
    assert shared.ask(lambda client: read_large(client, SPACE, NAME, len(payload)), 20) is None


def test_values_above_the_limit_are_not_read(shared: Store) -> None:
    shared.ask(lambda client: write_large(client, SPACE, NAME, [bytes(PIECE)], 100), 20)
    assert shared.ask(lambda client: read_large(client, SPACE, NAME, PIECE // 2), 20) is None
    shared.ask(lambda client: client.set("y", SPACE.seal("y", bytes(5000))))
    assert shared.ask(lambda client: read_small(client, SPACE, "y", 1000)) is None
    assert shared.ask(lambda client: read_small(client, SPACE, "y", 5000)) == bytes(5000)


def test_values_of_another_kind_are_refused(shared: Store) -> None:
    shared.ask(lambda client: client.lpush(NAME, b"1"))
    with pytest.raises(Refused):
        shared.ask(lambda client: read_small(client, SPACE, NAME, 100))
    assert shared.available


def test_reading_stops_when_nobody_wants_to_go_on(shared: Store) -> None:
    shared.ask(lambda client: write_large(client, SPACE, NAME, [bytes(PIECE)], 100), 20)
    assert shared.ask(lambda client: read_large(client, SPACE, NAME, PIECE, lambda: False), 20) is None
