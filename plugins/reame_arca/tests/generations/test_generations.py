"""What one server said, others propose: through a real store, which may do what it likes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reame_arca.generations.following import BATCH
from reame_arca.generations.messages import FIELD, LARGEST_VALUE, from_message, to_message
from reame_arca.sealing import Space
from reame_arca.stream import BEGINNING, Page, read_page
from reame_palimpsest.frames import encode
from reame_palimpsest.generations import content_id
from reame_palimpsest.sharing import SharedArchive, SharedGeneration

from plugins.reame_arca.tests.generations.members import Member, member
from plugins.reame_arca.tests.proxy import Proxy
from plugins.reame_arca.tests.real_store import RealStore, free_port, wait_until
from plugins.reame_palimpsest.tests.support import accepted, random_generations
from tests.engine.support import greedy, plain, words

SECRET = {"secret": "a secret of the user's"}
ASKED = greedy(words(40), 30)


@pytest.fixture
def members(tmp_path: Path, store: RealStore) -> Iterator[Any]:
    """Makes members by name; all of one name have one archive."""
    with ExitStack() as stack:

        def make(name: str, url: str = store.url, **arguments: Any) -> Member:
            return stack.enter_context(member(tmp_path / name, url, **arguments))

        yield make


def number(salt: int) -> Any:
    """A request like no other."""
    return greedy(words(30, salt), 20)


def stream_of(store: RealStore) -> str:
    [name] = [name for name in store.names("reame:generations:*") if not name.endswith(":identity")]
    return name


def entries(store: RealStore) -> list[tuple[bytes, dict[bytes, bytes]]]:
    with store.client() as client:
        found: list[tuple[bytes, dict[bytes, bytes]]] = client.xrange(stream_of(store))
        return found


@pytest.mark.parametrize("arca", [{}, SECRET], ids=["plain", "encrypted"])
def test_what_one_server_said_another_proposes(members: Any, arca: dict[str, Any]) -> None:
    first, second = members("a", arca=arca), members("b", arca=arca)
    assert first.ask(ASKED).said == plain(ASKED)[0]
    second.holds(1)
    answer = second.ask(ASKED)
    assert answer.said == plain(ASKED)[0]
    assert accepted(answer) > 20


def test_who_comes_later_gets_what_there_is(members: Any) -> None:
    first = members("a")
    for salt in range(2 * BATCH + 5):
        first.ask(number(salt))
    second = members("b")
    second.holds(2 * BATCH + 5)
    wait_until(lambda: second.count("archived") == 2 * BATCH + 5)


def test_three_servers_and_nobody_has_anything_twice(members: Any) -> None:
    everyone = [members(name) for name in "abc"]
    for salt in range(9):
        everyone[salt % 3].ask(number(salt))
    for each in everyone:
        each.holds(9)
        wait_until(lambda each=each: each.count("own") == 3)
        wait_until(lambda each=each: each.count("archived") == 6)


def test_what_came_from_others_is_not_published_again(members: Any, store: RealStore) -> None:
    first, second = members("a"), members("b")
    first.ask(ASKED)
    second.holds(1)
    second.ask(ASKED)
    assert second.count("published") == 0
    assert len(entries(store)) == 1


def test_a_restart_goes_on_where_it_was(tmp_path: Path, store: RealStore) -> None:
    with member(tmp_path / "a", store.url) as first:
        first.ask(number(0))
        with member(tmp_path / "b", store.url) as second:
            second.holds(1)
            wait_until(lambda: (list(tmp_path.glob("b/*/arca-*.position")) or [Path()])[0].is_file())
        first.ask(number(1))
        with member(tmp_path / "b", store.url) as second:
            second.holds(2)
            wait_until(lambda second=second: second.count("archived") == 1)
            assert second.count("known or foreign") == 0
    [file] = tmp_path.glob("b/*/arca-*.position")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_own_messages_are_known_after_a_restart(tmp_path: Path, store: RealStore) -> None:
    with member(tmp_path / "a", store.url) as first:
        first.generations.follower.close(10)  # type: ignore[union-attr]
        first.ask(ASKED)
    with member(tmp_path / "a", store.url) as first:
        wait_until(lambda: first.count("own") == 1)
        first.holds(1)


@pytest.mark.parametrize("noted", [b"", b"{}", b"garbage", b'{"server":"x","positions":{"y":"no position"}}'])
def test_a_position_that_makes_no_sense(tmp_path: Path, store: RealStore, noted: bytes) -> None:
    with member(tmp_path / "a", store.url) as first:
        first.ask(ASKED)
        with member(tmp_path / "b", store.url) as second:
            second.holds(1)
        [file] = tmp_path.glob("b/*/arca-*.position")
        file.write_bytes(noted)
        with member(tmp_path / "b", store.url) as second:
            wait_until(lambda: second.count("known or foreign") == 1)
            second.holds(1)


def test_killed_between_archiving_and_noting(tmp_path: Path, store: RealStore) -> None:
    """At least once: what is read again is known."""
    with member(tmp_path / "a", store.url) as first, ExitStack() as stack:
        second = stack.enter_context(member(tmp_path / "b", store.url))
        second.follower._position.set = lambda identity, at: None
        for salt in range(3):
            first.ask(number(salt))
        second.holds(3)
        stack.close()
        with member(tmp_path / "b", store.url) as again:
            wait_until(lambda: again.count("known or foreign") == 3)
            again.holds(3)


def test_processes_that_share_an_archive_follow_once(tmp_path: Path, store: RealStore) -> None:
    with (
        member(tmp_path / "a", store.url) as first,
        member(tmp_path / "b", store.url) as second,
        member(tmp_path / "b", store.url) as third,
    ):
        first.ask(ASKED)
        wait_until(lambda: second.count("archived") + third.count("archived") == 1)
        second.ask(number(3))
        wait_until(lambda: second.count("own") + third.count("own") == 1)


def test_tenants_never_meet(members: Any) -> None:
    first, second = members("a"), members("b")
    first.ask(replace(ASKED, tenant="alice"))
    wait_until(lambda: second.count("archived") == 1)
    for tenant, known in (("bob", False), ("", False), ("alice", True)):
        answer = second.ask(replace(ASKED, tenant=tenant, max_tokens=29))
        assert (accepted(answer) > 0) is known


def test_other_tokenizers_never_meet(members: Any, store: RealStore) -> None:
    first, second, third = members("a"), members("b", tokenizer="other"), members("c", model="another")
    first.ask(ASKED)
    third.holds(1)
    assert second.held == 0


@pytest.mark.parametrize("arca", [{"prefix": "other"}, {"secret": "another secret, as long"}])
def test_who_does_not_share_meets_nobody(members: Any, arca: dict[str, Any]) -> None:
    first, second, third = members("a", arca=SECRET), members("b", arca=arca), members("c", arca=SECRET)
    first.ask(ASKED)
    third.holds(1)
    assert second.held == 0


def test_a_request_that_shares_nothing(members: Any, store: RealStore) -> None:
    first = members("a")
    first.ask(replace(ASKED, extra={"arca": {"generations": False}}))
    assert first.held == 1
    assert not [name for name in store.names("reame:generations:*") if not name.endswith(":identity")]


def test_the_store_learns_no_words(members: Any, store: RealStore) -> None:
    first = members("a", arca=SECRET)
    first.ask(ASKED)
    [(_, fields)] = entries(store)
    fragment = b"".join(token.to_bytes(4, "little") for token in ASKED.prompt[-4:])
    assert fragment not in fields[FIELD]


# The store misbehaves


def test_nobody_is_there(tmp_path: Path) -> None:
    with member(tmp_path / "a", f"redis://127.0.0.1:{free_port()}") as alone:
        for salt in range(4):
            assert alone.ask(number(salt)).said == plain(number(salt))[0]
        assert alone.held == 4


def test_started_again_empty(members: Any, store: RealStore) -> None:
    first, second = members("a"), members("b")
    first.ask(number(0))
    second.holds(1)
    store.restart()
    wait_until(lambda: first.store.available and first.store.probe_now())
    first.ask(number(1))
    second.holds(2)
    third = members("c")
    third.holds(1)


def test_begun_anew_with_a_clock_that_is_behind(members: Any, store: RealStore) -> None:
    """Messages have smaller numbers than before: only the store's identity tells."""
    first, second = members("a"), members("b")
    first.ask(number(0))
    second.holds(1)
    name = stream_of(store)
    [(_, fields)] = entries(store)
    with store.client() as client:
        client.delete(name, f"{name}:identity")
        client.xadd(name, fields, id="5-0")
        client.set(f"{name}:identity", "ab" * 16)
    third = members("c")
    third.holds(1)
    second.follower._identified = -1e9
    wait_until(lambda: second.count("known or foreign") == 1)
    second.holds(1)


def test_cut_short_while_nobody_looked(tmp_path: Path, store: RealStore) -> None:
    arca = {"generations_max": 100}
    with member(tmp_path / "a", store.url, arca) as first:
        first.ask(number(0))
        with member(tmp_path / "b", store.url, arca) as second:
            second.holds(1)
        for salt in range(1, 6):
            first.ask(number(salt))
        with store.client() as client:
            client.xtrim(stream_of(store), maxlen=2, approximate=False)
        with member(tmp_path / "b", store.url, arca) as second:
            second.holds(3)


def test_the_stream_does_not_grow_for_ever(members: Any, store: RealStore) -> None:
    space = Space("reame", "generations", {"tokenizer": "x"}, "", None)
    first = members("a", arca={"generations_max": 100})
    offered = first.generations._archive
    assert isinstance(offered, SharedArchive)
    for each in random_generations(400, words=200):
        first.generations._publish(SharedGeneration("0" * 32, content_id(each).hex(), encode(each)))
    assert first.store.flush(30)
    assert 100 <= len(entries(store)) < 300
    with store.client() as client:
        assert all(client.pttl(name) > 0 for name in store.names("reame:generations:*"))
    assert space is not None


def test_it_stops_answering_and_goes_on(members: Any, store: RealStore) -> None:
    first, second = members("a"), members("b", arca={"patience_ms": 100})
    store.pause()
    try:
        assert second.ask(number(0)).said == plain(number(0))[0]
    finally:
        store.resume()
    first.ask(number(1))
    second.holds(2)


def test_it_is_full(members: Any, store: RealStore) -> None:
    first = members("a")
    first.ask(number(0))
    store.fill()
    for salt in range(1, 60):
        first.ask(number(salt))
    assert first.held == 60
    assert first.count("published") < 60


def test_it_lies(members: Any, proxy: Proxy) -> None:
    first, second = members("a"), members("b", url=proxy.url, arca={"patience_ms": 200})
    first.ask(number(0))
    second.holds(1)
    proxy.lie()
    assert second.ask(number(1)).said == plain(number(1))[0]
    proxy.spoil = lambda answer: answer
    first.ask(number(2))
    second.holds(3)


def test_messages_that_nobody_has_sealed(members: Any, store: RealStore) -> None:
    first, second = members("a", arca=SECRET), members("b", arca=SECRET)
    first.ask(number(0))
    second.holds(1)
    name = stream_of(store)
    [(_, fields)] = entries(store)
    sealed = fields[FIELD]
    forged = Space("reame", "generations", {"tokenizer": "x"}, "", None)
    [made] = random_generations(1, words=200)
    with store.client() as client:
        flipped = sealed[:40] + bytes([sealed[40] ^ 1]) + sealed[41:]
        for value in (b"\0", b"garbage", sealed[:-1], flipped, sealed * 2):
            client.xadd(name, {FIELD: value})
        client.xadd(name, {b"other": sealed})
        shared = SharedGeneration("0" * 32, content_id(made).hex(), encode(made))
        client.xadd(name, to_message(forged, name, "somebody", shared))
    first.ask(number(1))
    second.holds(2)
    assert second.count("damaged") == 7


def test_a_generation_that_somebody_poisoned(members: Any, store: RealStore) -> None:
    """Without a secret everybody can seal. The worst that comes of it is a draft that is refused."""
    first, second = members("a"), members("b")
    first.ask(ASKED)
    second.holds(1)
    service, layer = second.plugin._service, second.generations
    assert service is not None
    [genuine] = service.archive.view("").answers_to(next(iter(service.archive.view("").tails[0]._by_key)))
    wrong = genuine.tokens.copy()
    wrong[genuine.answer_start :] = 97
    lies = [replace(genuine, tokens=wrong, time=genuine.time + 10 + turn) for turn in range(3)]
    foreign = genuine.tokens.copy()
    foreign[-1] = 1 << 20
    lies.append(replace(genuine, tokens=foreign))
    name, space = layer._stream.name, layer._stream.space
    with store.client() as client:
        for lie in lies:
            shared = SharedGeneration(second_tenant(), content_id(lie).hex(), encode(lie))
            client.xadd(name, to_message(space, name, "somebody", shared))
            client.xadd(name, to_message(space, name, "somebody", replace(shared, tenant="../../etc")))
            client.xadd(name, to_message(space, name, "somebody", replace(shared, content="0" * 32)))
    wait_until(lambda: second.count("known or foreign") >= 10)
    answer = second.ask(ASKED)
    assert answer.said == plain(ASKED)[0]


def second_tenant() -> str:
    from reame_palimpsest.folders import tenant_folder_name

    return tenant_folder_name("")


def test_an_archive_that_fails_at_one_generation_takes_the_others(
    members: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = members("a"), members("b")
    archive = second.generations._archive
    poison = number(1).prompt[-1]
    add = archive.add

    def picky(shared: Any, timeout: float) -> int | None:
        from reame_palimpsest.frames import decode

        for each in shared:
            [generation] = decode(each.data, final=True).generations
            if generation.tokens[generation.answer_start - 1] == poison and len(generation.tokens) == 49:
                return None
        answer: int | None = add(shared, timeout)
        return answer

    monkeypatch.setattr(archive, "add", picky)
    first.ask(greedy(words(30, 1), 19))
    first.ask(number(2))
    second.holds(1)
    assert second.count("not archived") == 1


def test_messages_come_back_as_they_were() -> None:
    space = Space("reame", "generations", {"tokenizer": "x"}, "", b"a secret of the user's")
    [made] = random_generations(1)
    shared = SharedGeneration("0" * 32, content_id(made).hex(), encode(made))
    message = to_message(space, "stream", "sender", shared)
    value = message[FIELD]
    assert from_message(space, "stream", value) == ("sender", shared)
    assert from_message(space, "another stream", value) is None
    assert from_message(space, "stream", b"") is None


def test_entries_of_any_size_are_never_asked_for(store: RealStore) -> None:
    with store.client() as client:
        for value in (b"x" * (LARGEST_VALUE + 1), b"x" * LARGEST_VALUE, b"y"):
            client.xadd("stream", {FIELD: value})
        client.xadd("stream", {FIELD: b"z", b"more": b"x" * 1000})
        names = [entry.decode() for entry, _ in client.xrange("stream")]

        def page(after: str, count: int) -> Page:
            found = read_page(client, "stream", after, count, FIELD, LARGEST_VALUE)
            assert found.newest == names[-1]
            return found

        found = page(BEGINNING, 10).entries
        assert [len(each.value) for each in found] == [0, LARGEST_VALUE, 1, 0]
        assert [each.id for each in found] == names
        assert [each.id for each in page(names[0], 2).entries] == names[1:3]
        assert page(names[-1], 10).entries == []
        nothing = read_page(client, "no stream", BEGINNING, 10, FIELD, LARGEST_VALUE)
        assert nothing == Page([], BEGINNING)


def test_entries_that_are_too_large_are_passed_over(members: Any, store: RealStore) -> None:
    first, second = members("a"), members("b")
    first.ask(number(0))
    second.holds(1)
    with store.client() as client:
        client.xadd(stream_of(store), {FIELD: bytes(LARGEST_VALUE + 1)})
    first.ask(number(1))
    second.holds(2)
    assert second.count("damaged") == 1
