"""What one server computed starts another through a real store, which may do what it likes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import time
from typing import Any

import numpy as np
import pytest
from reame_arca.blocks.far import Names
from reame_arca.blocks.ledger import Ledger
from reame_arca.large import PIECE, Head, write_large
from reame_arca.sealing import Space
from reame_diskkv.chain import child_key, encode, root_key

from plugins.reame_arca.tests.blocks.members import Member, member
from plugins.reame_arca.tests.blocks.padded import PaddedBackend
from plugins.reame_arca.tests.proxy import Proxy
from plugins.reame_arca.tests.real_store import PATIENCE, RealStore, free_port, wait_until
from plugins.reame_diskkv.tests.driver import BLOCK, NAMESPACE, branch, plain, request, words

LONG = words(100)
SECRET = {"secret": "a secret of the user's"}


@pytest.fixture
def members(tmp_path: Path, store: RealStore) -> Iterator[Any]:
    """Makes members by name; all of one name have one disk."""
    with ExitStack() as stack:

        def make(name: str, url: str = store.url, **arguments: Any) -> Member:
            return stack.enter_context(member(tmp_path / name, url, **arguments))

        yield make


def right(answer: Any, prompt: tuple[int, ...], max_tokens: int = 8) -> bool:
    return bool(answer.said == plain(request(prompt, max_tokens))[0])


@pytest.mark.parametrize("arca", [{}, SECRET], ids=["plain", "encrypted"])
def test_a_prefix_that_one_server_computed_starts_another(members: Any, arca: dict[str, Any]) -> None:
    first, second = members("a", arca=arca), members("b", arca=arca)
    assert right(first.ask(LONG), LONG)
    answer = second.ask(LONG)
    assert right(answer, LONG)
    assert answer.usage.reused == {"diskkv": 99}
    assert answer.usage.computed == 1
    assert first.counts.get("blocks", "published") == second.counts.get("blocks", "fetched") == 7


@pytest.mark.parametrize("common", [BLOCK - 1, BLOCK, BLOCK + 1, 50, 96, 99])
def test_another_question_behind_the_same_text(members: Any, common: int) -> None:
    first, second = members("a"), members("b")
    first.ask(LONG)
    for salt in range(3):
        first.ask(branch(LONG, min(common, 20), 60, salt + 5))
    other = branch(LONG, common, 140)
    answer = second.ask(other)
    assert right(answer, other)
    assert answer.restored == common


def test_three_servers_and_a_conversation_that_moves_between_them(members: Any) -> None:
    everyone = [members(name) for name in "abc"]
    history = words(70)
    for turn in range(6):
        answer = everyone[turn % 3].ask(history, 20)
        assert right(answer, history, 20)
        if turn:
            # The last token of an answer is delivered before it is computed.
            assert answer.usage.computed == 13
        history = (*history, *answer.tokens, *words(13, salt=turn + 2)[1:])


def test_what_others_have_published_is_not_published_again(members: Any) -> None:
    first, second = members("a"), members("b")
    first.ask(LONG)
    second.ask(LONG, reuse=False)
    assert second.counts.get("blocks", "published") == 0
    assert second.counts.get("blocks", "known") == 7


def test_the_end_of_a_text_that_has_grown_takes_no_room(members: Any, store: RealStore) -> None:
    first, history = members("a"), LONG
    sizes = set()
    for _ in range(5):
        history = (*history, *first.ask(history, 2).tokens)
        sizes.add(len(store.names("reame:blocks:*")))
    assert len(sizes) == 1


def test_the_store_learns_no_tokens(members: Any, store: RealStore) -> None:
    text = words(100)
    members("a", arca=SECRET).ask(text)
    fragments = [b"".join(token.to_bytes(4, order) for token in text[20:24]) for order in ("big", "little")]
    with store.client() as client:
        for name in client.keys("*"):
            kind = client.type(name)
            values = client.zrange(name, 0, -1) if kind == b"zset" else [client.get(name)]
            assert not any(fragment in value for value in values for fragment in fragments)


def test_tenants_never_meet(members: Any) -> None:
    members("a").ask(LONG, tenant="alice")
    for number, (tenant, computed) in enumerate((("bob", 100), ("", 100), ("alice", 1))):
        answer = members(f"b{number}").ask(LONG, tenant=tenant)
        assert answer.usage.computed == computed
        assert right(answer, LONG)


@pytest.mark.parametrize(
    "changed", [{"model": "fake, quantised"}, {"kv_cache_type": "q8_0"}, {"adapter": "a"}, {"build": "2"}]
)
def test_other_models_never_meet(members: Any, changed: dict[str, str]) -> None:
    members("a").ask(LONG)
    answer = members("b", namespace={**NAMESPACE, **changed}).ask(LONG)
    assert answer.usage.computed == 100


@pytest.mark.parametrize("arca", [{"prefix": "other"}, {"secret": "another secret, as long"}])
def test_who_does_not_share_meets_nobody(members: Any, arca: dict[str, Any]) -> None:
    members("a", arca=SECRET).ask(LONG)
    assert members("b", arca=arca).ask(LONG).usage.computed == 100


def test_a_request_that_shares_nothing(members: Any, store: RealStore) -> None:
    first, second = members("a"), members("b")
    first.ask(LONG, extra={"arca": {"blocks": False}})
    assert store.names() == []
    first.ask(LONG, extra={"arca": {"answers": False}}, reuse=False)
    assert store.names() == [], "its blocks are on the disk already"
    assert second.ask(LONG).usage.computed == 100
    third = members("c")
    assert third.ask(LONG, extra={"arca": {"blocks": False}}).usage.computed == 100
    assert third.counts.by_label("block_lookups") == {}


# The store misbehaves


def test_nobody_is_there(tmp_path: Path) -> None:
    with member(tmp_path / "a", f"redis://127.0.0.1:{free_port()}") as alone:
        for salt in range(6):
            assert right(alone.ask(words(100, salt)), words(100, salt))
        assert not alone.store.available


def test_killed_and_started_again_empty(members: Any, store: RealStore) -> None:
    first, second = members("a"), members("b")
    first.ask(LONG)
    store.kill()
    other = words(100, salt=4)
    for server in (first, second):
        assert right(server.ask(LONG, 9), LONG, 9)
        assert right(server.ask(other), other)
    store.start()
    wait_until(lambda: first.store.probe_now() and second.store.probe_now())
    wait_until(lambda: first.store.available and second.store.available)
    new = words(100, salt=5)
    assert right(first.ask(new), new)
    answer = second.ask(new)
    assert right(answer, new)
    assert answer.usage.computed == 1


def test_it_stops_answering(members: Any, store: RealStore) -> None:
    first = members("a")
    second = members("b", arca={"timeout_ms": 20, "patience_ms": 50})
    first.ask(LONG)
    store.pause()
    try:
        for salt in (0, 7, 8, 9, 10):
            assert right(second.ask(words(100, salt)), words(100, salt))
        assert not second.store.available
    finally:
        store.resume()


def test_it_is_full(members: Any, store: RealStore) -> None:
    backend = {"pad": 1000, "cells": 1024}
    first, second = (members(name, backend=PaddedBackend(**backend)) for name in "ab")
    first.ask(LONG)
    store.fill()
    other = words(200, salt=4)
    assert right(first.ask(other), other)
    assert first.counts.get("blocks", "not written") + first.counts.get("blocks", "not tried") > 0
    answer = second.ask(LONG)
    assert right(answer, LONG)
    assert answer.restored == 99, "what is there can be read"
    assert right(second.ask(other), other)


def test_it_throws_away_what_it_likes(members: Any, store: RealStore) -> None:
    first, second = members("a"), members("b")
    first.ask(LONG)
    with store.client() as client:
        pieces = [name for name in store.names("reame:blocks:*:*") if name.count(":") == 4]
        for name in pieces[::2]:
            client.delete(name)
    answer = second.ask(LONG)
    assert right(answer, LONG)
    assert second.counts.get("blocks", "wrong or gone") == 1
    second.ask(branch(LONG, 3, 90))
    third = members("c")
    for _ in range(9):
        third.server.forget()
        assert right(third.ask(LONG), LONG)
    assert third.ask(LONG).usage.computed == 1


def test_it_lies(proxy: Proxy, members: Any) -> None:
    members("a").ask(LONG)
    second = members("b", url=proxy.url, arca={"timeout_ms": 100, "patience_ms": 200})
    proxy.lie()
    for salt in (0, 7, 8):
        assert right(second.ask(words(100, salt)), words(100, salt))


def test_it_hangs_up(proxy: Proxy, members: Any) -> None:
    members("a").ask(LONG)
    second = members("b", url=proxy.url)
    proxy.spoil = lambda answer: None
    assert right(second.ask(LONG), LONG)


def test_it_is_far_away(proxy: Proxy, members: Any) -> None:
    members("a").ask(LONG)
    second = members("b", url=proxy.url, arca={"timeout_ms": 10})
    proxy.delay_s = 0.2
    for salt in (0, 7, 8, 9):
        assert right(second.ask(words(100, salt)), words(100, salt))
    assert second.server.counts.far_blocks == 0
    assert not second.store.available


@pytest.mark.parametrize("arca", [{}, SECRET], ids=["plain", "encrypted"])
@pytest.mark.parametrize("at", [0.0, 0.05, 0.3, 0.7, 0.999])
def test_bits_that_have_flipped(members: Any, store: RealStore, arca: dict[str, Any], at: float) -> None:
    members("a", arca=arca).ask(LONG)
    with store.client() as client:
        for name in store.names("reame:blocks:*"):
            if client.type(name) == b"string":
                value = bytearray(client.get(name))
                value[int(at * len(value))] ^= 8
                client.set(name, bytes(value), px=100_000)
    second = members("b", arca=arca)
    answer = second.ask(LONG)
    assert right(answer, LONG)
    assert answer.usage.computed == 100
    assert second.server.counts.far_blocks == 0


def test_values_in_each_other_s_place(members: Any, store: RealStore) -> None:
    """Every one of them sound, none where it belongs."""
    first = members("a")
    first.ask(LONG)
    with store.client() as client:
        heads = [name for name in store.names("reame:blocks:*") if name.count(":") == 2]
        heads = [name for name in heads if client.type(name) == b"string"]
        values = [client.get(name) for name in heads]
        for name, value in zip(heads, values[1:] + values[:1], strict=True):
            client.set(name, value)
    second = members("b")
    answer = second.ask(LONG)
    assert right(answer, LONG)
    assert answer.usage.computed == 100


def test_a_block_that_somebody_poisoned_with_the_right_checksums(members: Any, store: RealStore) -> None:
    """Without a secret everybody can seal: the block's own header still says what it is."""
    other = words(100, salt=3)
    first = members("a")
    first.ask(other)
    files = sorted((first.server.service.cache.store.folder.path / "blocks").glob("*/*.kv"))
    names = Names(lambda root: Space("reame", "blocks", {}, root.hex(), None))
    root = root_key(NAMESPACE, "", BLOCK)
    key = child_key(root, encode(np.array(LONG[:BLOCK], np.int32)))
    for path in files:
        with store.client() as client:
            write_large(client, names.space(root), names.block(root, key), [path.read_bytes()], 100)
        second = members(f"b{path.stem}")
        answer = second.ask(LONG)
        assert right(answer, LONG)
        assert answer.usage.computed >= 99
        assert second.server.counts.failures["damaged"] <= 1


def test_large_blocks_come_in_pieces(members: Any, store: RealStore) -> None:
    first = members("a", backend=PaddedBackend(cells=512, pad=100_000))
    second = members("b", backend=PaddedBackend(cells=512, pad=100_000))
    first.ask(LONG[:40])
    assert any(name.endswith(":2") for name in store.names("reame:blocks:*")), "more than two pieces"
    answer = second.ask(LONG[:40])
    assert right(answer, LONG[:40])
    assert answer.restored == 39
    assert second.counts.get("block_bytes", "fetched") > 2 * PIECE


def test_what_is_too_large_is_not_shared(members: Any, store: RealStore) -> None:
    first = members("a", arca={"blocks_max_mb": 0.0001})
    first.ask(LONG)
    assert store.names() == []
    assert first.counts.get("blocks", "too large") == 7


def test_what_comes_too_fast_is_not_shared_and_holds_up_nobody(members: Any, store: RealStore) -> None:
    first = members("a", arca={"queue_mb": 0.002})
    store.pause()
    try:
        first.server.ask(LONG)
        wait_until(lambda: first.counts.get("blocks", "dropped") > 0)
    finally:
        store.resume()
    assert first.blocks.flush(PATIENCE)


def test_what_was_not_used_for_longest_makes_room(members: Any, store: RealStore) -> None:
    first = members("a", arca={"blocks_total_mb": 0.03})
    for salt in range(12):
        first.ask(words(100, salt))
    assert first.counts.get("blocks", "made room") > 0
    with store.client() as client:
        held = sum(
            client.strlen(name) for name in store.names("reame:blocks:*:*") if client.type(name) == b"string"
        )
    assert held < 0.03e6 * 1.3
    latest = words(100, 11)
    answer = members("b").ask(latest)
    assert right(answer, latest)
    assert answer.restored == 99


def test_everything_expires(members: Any, store: RealStore) -> None:
    members("a").ask(LONG)
    with store.client() as client:
        assert all(client.pttl(name) > 0 for name in store.names())


def test_a_ledger_that_somebody_scribbled_in(store: RealStore) -> None:
    ledger = Ledger("reame", 1000, 1000)
    now = time()
    with store.client() as client:
        client.zadd("reame:blocks:ledger", {b"\xff\xfe": now - 3, b"no entry": now - 2, b"9999 x y": now - 1})
        assert ledger.wrote(client, "name", Head("abcd", 10)) == 3
        assert client.zrange("reame:blocks:ledger", 0, -1) == [b"10 abcd name"]
