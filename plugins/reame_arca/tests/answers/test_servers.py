"""Real server processes and a real store: each has what the others have answered, and says the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from plugins.reame_arca.tests.fleet import CHAT, Member, chat_body, fleet, recalled, said
from plugins.reame_arca.tests.proxy import Proxy, proxy_to
from plugins.reame_arca.tests.real_store import RealStore, real_store, wait_until

GENERATED = "reame_generation_tokens_total"
Ground = tuple[RealStore, Proxy, list[Member]]


def until_recalled(member: Member, text: str = "Tell me", **fields: Any) -> dict[str, Any]:
    """What is shared is shared behind the response's back."""
    answers: list[dict[str, Any]] = []

    def known() -> bool:
        answers.append(member.chat(text, **fields))
        return recalled(answers[-1])

    wait_until(known)
    return answers[-1]


def answers_of(store: RealStore) -> list[str]:
    """The names of what is kept. A lock may outlast its answer by a moment."""
    return [name for name in store.names("*:answers:*") if not name.endswith(":lock")]


def generated(members: list[Member]) -> float:
    return sum(member.metric(GENERATED) for member in members)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Three servers that see a store through a proxy. Starting them is what takes long."""
    with (
        real_store(tmp_path_factory.mktemp("store")) as store,
        proxy_to(store.port) as proxy,
        fleet(3, proxy.url, batch_ms=10, timeout_ms=150) as members,
    ):
        yield store, proxy, members


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Two servers with a secret."""
    with (
        real_store(tmp_path_factory.mktemp("store")) as store,
        proxy_to(store.port) as proxy,
        fleet(2, proxy.url, timeout_ms=150, secret="a secret that nobody guesses") as members,
    ):
        yield store, proxy, members


def heal(ground: Ground) -> None:
    """An empty store that every server asks."""
    store, proxy, members = ground
    proxy.heal()
    store.restart()
    for member in members:
        until_recalled(member, "Are you well?")


def test_three_servers_have_what_one_has_answered(servers: Ground) -> None:
    heal(servers)
    _, _, members = servers
    first, *others = members
    before = generated(others)
    fields: dict[str, Any] = {"logprobs": True, "top_logprobs": 3, "n": 2}
    computed = first.chat(**fields)
    assert not recalled(computed)
    for member in members:
        answer = until_recalled(member, **fields)
        assert said(answer) == said(computed)
        note = answer["reame"]["plugins"]["arca"]
        assert note["answer"] == "exact"
        assert note["age_s"] >= 0
    plain = first.chat(cache_prompt=False, **fields)
    assert not recalled(plain)
    assert said(plain) == said(computed)
    assert generated(others) - before in (0, plain["usage"]["completion_tokens"])


def test_servers_that_are_asked_the_same_at_once_compute_it_once(servers: Ground) -> None:
    heal(servers)
    # Patient ones: who is not answered in time computes by itself.
    with fleet(3, servers[0].url, batch_ms=10, timeout_ms=10_000) as members:
        before = generated(members)
        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(lambda number: members[number % 3].chat("All at once"), range(12)))
        assert len({said(answer) for answer in answers}) == 1
        assert sum(not recalled(answer) for answer in answers) == 1
        assert generated(members) - before == answers[0]["usage"]["completion_tokens"]


def test_a_client_that_leaves_lets_the_next_one_compute(servers: Ground) -> None:
    heal(servers)
    _, _, (one, two, _) = servers
    body = chat_body("A long one", max_tokens=300)
    with httpx.stream("POST", one.url + CHAT, json={**body, "stream": True}, timeout=120) as response:
        next(response.iter_lines())
    answer = two.chat("A long one", max_tokens=300)
    assert not recalled(answer), "half an answer is none"
    assert answer["usage"]["completion_tokens"] > 1


def test_the_others_go_on_when_the_one_who_computes_dies(servers: Ground) -> None:
    heal(servers)
    store, proxy, (living, *_) = servers
    long: dict[str, Any] = {"text": "Until the end", "max_tokens": 100}
    with fleet(1, proxy.url, batch_ms=200) as [dying], ThreadPoolExecutor(2) as pool:
        lost = pool.submit(lambda: dying.chat(**long))
        wait_until(lambda: bool(store.names("*:lock")))
        answer = pool.submit(lambda: living.chat(**long))
        dying.kill()
        assert lost.exception(120) is not None
        assert not recalled(answer.result(120))


NOT_SHARED: list[dict[str, Any]] = [
    {"temperature": 1},
    {"temperature": 1, "seed": 4},
    {"cache_prompt": False},
    {"reame": {"cache": "bypass"}},
    {"reame": {"arca": False}},
    {"reame": {"arca": {"answers": False}}},
]


def test_what_is_not_shared(servers: Ground) -> None:
    heal(servers)
    store, _, (member, *_) = servers
    before = answers_of(store)
    for fields in NOT_SHARED:
        for _ in range(2):
            assert not recalled(member.chat("Not this", **fields))
    assert answers_of(store) == before


def test_wrong_wishes_are_refused(servers: Ground) -> None:
    _, _, (member, *_) = servers
    wrong = ((3, "reame.arca"), ({"answer": True}, "reame.arca"), ({"answers": 1}, "reame.arca.answers"))
    for wish, param in wrong:
        response = member.http.post(CHAT, json=chat_body("x", reame={"arca": wish}))
        assert response.status_code == 400
        assert response.json()["error"]["param"] == param


def lose(store: RealStore, proxy: Proxy) -> None:
    store.kill()


def pause(store: RealStore, proxy: Proxy) -> None:
    store.pause()


def empty(store: RealStore, proxy: Proxy) -> None:
    store.restart()


def fill(store: RealStore, proxy: Proxy) -> None:
    store.fill()


def lie(store: RealStore, proxy: Proxy) -> None:
    proxy.lie()


def delay(store: RealStore, proxy: Proxy) -> None:
    proxy.delay_s = 0.2


def spoil(store: RealStore, proxy: Proxy) -> None:
    with store.client() as client:
        for name in answers_of(store):
            client.setrange(name, client.strlen(name) // 2, b"\xff\x00poison")


def exchange(store: RealStore, proxy: Proxy) -> None:
    """Each value under another one's name."""
    with store.client() as client:
        names = answers_of(store)
        values = [client.get(name) for name in names]
        for name, value in zip(names, [*values[1:], values[0]], strict=True):
            client.set(name, value)


HARMS = [lose, pause, empty, fill, lie, delay, spoil, exchange]


def check(ground: Ground, harm: Callable[[RealStore, Proxy], None]) -> None:
    heal(ground)
    store, proxy, members = ground
    texts = [f"Question {number}" for number in range(4)]
    right = [said(members[0].chat(text, cache_prompt=False)) for text in texts]
    for text in texts:
        for member in members:
            until_recalled(member, text)
    harm(store, proxy)
    for member in 2 * members:
        assert [said(member.chat(text)) for text in texts] == right


@pytest.mark.parametrize("harm", HARMS)
def test_whatever_happens_to_the_store_every_answer_is_right(
    servers: Ground, harm: Callable[[RealStore, Proxy], None]
) -> None:
    check(servers, harm)


@pytest.mark.parametrize("harm", [spoil, exchange, lie])
def test_whatever_happens_to_encrypted_values_every_answer_is_right(
    encrypted: Ground, harm: Callable[[RealStore, Proxy], None]
) -> None:
    check(encrypted, harm)
