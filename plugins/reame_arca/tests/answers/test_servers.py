"""Real server processes and a real store: each has what the others have answered, and says the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from plugins.reame_arca.tests.fleet import Member, fleet, recalled, said
from plugins.reame_arca.tests.proxy import Proxy, proxy_to
from plugins.reame_arca.tests.real_store import RealStore, real_store, wait_until

GENERATED = "reame_generation_tokens_total"


def until_recalled(member: Member, text: str = "Tell me", **fields: Any) -> dict[str, Any]:
    """What is shared is shared behind the response's back."""
    answers: list[dict[str, Any]] = []

    def known() -> bool:
        answers.append(member.chat(text, **fields))
        return recalled(answers[-1])

    wait_until(known)
    return answers[-1]


def generated(members: list[Member]) -> float:
    return sum(member.metric(GENERATED) for member in members)


def test_three_servers_have_what_one_has_answered(store: RealStore) -> None:
    with fleet(3, store.url) as members:
        first, *others = members
        computed = first.chat(logprobs=True, top_logprobs=3, n=2)
        assert not recalled(computed)
        for member in members:
            answer = until_recalled(member, logprobs=True, top_logprobs=3, n=2)
            assert said(answer) == said(computed)
            note = answer["reame"]["plugins"]["arca"]
            assert note["answer"] == "exact"
            assert note["age_s"] >= 0
        assert not any(member.metric(GENERATED) for member in others)
        plain = first.chat(logprobs=True, top_logprobs=3, n=2, cache_prompt=False)
        assert not recalled(plain)
        assert said(plain) == said(computed)


def test_servers_that_are_asked_the_same_at_once_compute_it_once(store: RealStore) -> None:
    with fleet(3, store.url, batch_ms=20) as members, ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda number: members[number % 3].chat("All at once"), range(12)))
        assert len({said(answer) for answer in answers}) == 1
        assert sum(not recalled(answer) for answer in answers) == 1
        assert generated(members) == answers[0]["usage"]["completion_tokens"]


def test_the_others_go_on_when_the_one_who_computes_dies(store: RealStore) -> None:
    with fleet(2, store.url, batch_ms=20) as (dying, living), ThreadPoolExecutor(2) as pool:
        lost = pool.submit(lambda: dying.chat("A long one", max_tokens=100))
        wait_until(lambda: any(name.endswith(":lock") for name in store.names()))
        answer = pool.submit(lambda: living.chat("A long one", max_tokens=100))
        dying.kill()
        assert lost.exception(30) is not None
        assert not recalled(answer.result(60))


def test_a_client_that_leaves_lets_the_next_one_compute(store: RealStore) -> None:
    with fleet(2, store.url, batch_ms=20) as (one, two):
        with one.http.stream(
            "POST",
            "/v1/completions",
            json={"model": "fake", "prompt": "Once", "max_tokens": 400, "temperature": 0, "stream": True},
        ) as response:
            next(response.iter_lines())
        answer = two.http.post(
            "/v1/completions", json={"model": "fake", "prompt": "Once", "max_tokens": 400, "temperature": 0}
        ).json()
        assert not recalled(answer), "half an answer is none"
        assert answer["usage"]["completion_tokens"] > 1


NOT_SHARED: list[dict[str, Any]] = [
    {"temperature": 1},
    {"temperature": 1, "seed": 4},
    {"cache_prompt": False},
    {"reame": {"cache": "bypass"}},
    {"reame": {"arca": False}},
    {"reame": {"arca": {"answers": False}}},
]


def test_what_is_not_shared(store: RealStore) -> None:
    with fleet(1, store.url) as [member]:
        for fields in NOT_SHARED:
            for _ in range(2):
                assert not recalled(member.chat(**fields))
        assert not [name for name in store.names() if ":answers:" in name]


def test_a_seed_makes_sampled_answers_shareable_where_that_is_wanted(store: RealStore) -> None:
    with fleet(2, store.url, answers_seeded=True) as (one, two):
        computed = one.chat(temperature=1, seed=4)
        assert said(until_recalled(two, temperature=1, seed=4)) == said(computed)
        for other in ({"seed": 5}, {"seed": 4, "top_p": 0.5}, {}):
            assert not recalled(two.chat(temperature=1, **other))


def test_wrong_wishes_are_refused(store: RealStore) -> None:
    with fleet(1, store.url) as [member]:
        for wish, param in (
            (3, "reame.arca"),
            ({"answer": True}, "reame.arca"),
            ({"answers": 1}, "reame.arca.answers"),
        ):
            body = {"model": "fake", "messages": [{"role": "user", "content": "x"}], "reame": {"arca": wish}}
            response = member.http.post("/v1/chat/completions", json=body)
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
        for name in store.names("*:answers:*"):
            client.setrange(name, client.strlen(name) // 2, b"\xff\x00poison")


def exchange(store: RealStore, proxy: Proxy) -> None:
    """Each value under another one's name."""
    with store.client() as client:
        names = store.names("*:answers:*")
        values = [client.get(name) for name in names]
        for name, value in zip(names, [*values[1:], values[0]], strict=True):
            client.set(name, value)


@pytest.fixture(scope="module", params=[None, "a secret that nobody guesses"], ids=["open", "encrypted"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RealStore, Proxy, list[Member]]]:
    """Two servers that see a store through a proxy."""
    options = {} if request.param is None else {"secret": request.param}
    with (
        real_store(tmp_path_factory.mktemp("store")) as store,
        proxy_to(store.port) as proxy,
        fleet(2, proxy.url, timeout_ms=150, **options) as members,
    ):
        yield store, proxy, members


@pytest.mark.parametrize("harm", [lose, pause, empty, fill, lie, delay, spoil, exchange])
def test_whatever_happens_to_the_store_every_answer_is_right(
    pair: tuple[RealStore, Proxy, list[Member]], harm: Callable[[RealStore, Proxy], None]
) -> None:
    store, proxy, members = pair
    texts = [f"Question {number}" for number in range(4)]
    right = [said(members[0].chat(text, cache_prompt=False)) for text in texts]
    for text in texts:
        for member in members:
            until_recalled(member, text)
    harm(store, proxy)
    for member in 2 * members:
        assert [said(member.chat(text)) for text in texts] == right
    proxy.heal()
    store.heal()
    for member in members:
        assert said(until_recalled(member, texts[0])) == right[0]


def test_tenants_never_meet(store: RealStore) -> None:
    with fleet(1, store.url) as [member]:
        member.chat()
        names = [name for name in store.names() if ":answers:" in name]
        assert names
        until_recalled(member)
    with fleet(1, store.url, prefix="other") as [member]:
        assert not recalled(member.chat())


def test_a_store_that_comes_back_is_used_again(store: RealStore) -> None:
    with fleet(1, store.url) as [member]:
        store.kill()
        for number in range(6):
            assert not recalled(member.chat(f"Question {number}"))
        store.start()
        until_recalled(member)
