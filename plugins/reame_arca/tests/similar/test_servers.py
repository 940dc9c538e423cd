"""Real server processes and a real store: what one was asked, the other is asked in other words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from plugins.reame_arca.tests.fleet import CHAT, Member, chat_body, fleet
from plugins.reame_arca.tests.real_store import RealStore, real_store, wait_until

Ground = tuple[RealStore, list[Member]]
ASKED, SIMILAR = "How do I boil an egg?", "how do i boil an EGG"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with (
        real_store(tmp_path_factory.mktemp("store")) as store,
        fleet(2, store.url, similar="true", similar_wait_ms=10_000) as members,
    ):
        yield store, members


def noted(answer: dict[str, Any]) -> dict[str, Any]:
    note: dict[str, Any] = answer["reame"].get("plugins", {}).get("arca", {})
    return note


def until_published(store: RealStore, question: str) -> None:
    def published() -> bool:
        names = store.names("reame:similar:*")
        with store.client() as client:
            entries = [entry for name in names for _, entry in client.xrange(name)]
        return any(question.encode() in value for entry in entries for value in entry.values())

    wait_until(published)


def test_two_servers(servers: Ground) -> None:
    store, (one, two) = servers
    computed = one.chat(ASKED)
    assert not noted(computed)
    until_published(store, ASKED)

    response = two.http.post(CHAT, json=chat_body(SIMILAR))
    answer = response.json()
    assert response.headers["x-reame-arca"] == "similar"
    note = noted(answer)
    assert (note["answer"], note["question"], note["similarity"]) == ("similar", ASKED, 1.0)
    assert answer["choices"][0]["message"] == computed["choices"][0]["message"]
    assert answer["reame"]["prompt_tokens"] == {"computed": 0, "arca": answer["usage"]["prompt_tokens"]}

    streamed = two.http.post(CHAT, json=chat_body(SIMILAR, stream=True))
    assert streamed.headers["x-reame-arca"] == "similar"
    chunks = [
        json.loads(line.removeprefix("data: "))
        for line in streamed.text.splitlines()
        if line.startswith("data: {")
    ]
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])
    assert text == computed["choices"][0]["message"]["content"]
    assert noted(chunks[-1])["question"] == ASKED
    assert two.metric("reame_arca_similar_total", '{outcome="recalled"}') == 2

    for fields in (
        {"text": "how do i boil an EGG in 5 minutes"},
        {"text": SIMILAR, "max_tokens": 23},
        {"text": SIMILAR, "cache_prompt": False},
        {"text": SIMILAR, "reame": {"arca": {"similar": False}}},
    ):
        assert not noted(two.chat(**fields)), fields
    wait_until(lambda: noted(two.chat(SIMILAR)).get("answer") == "exact")


def test_the_store_goes_and_comes_back(servers: Ground) -> None:
    store, (one, two) = servers
    one.chat("What is tea?")
    store.kill()
    for number in range(6):
        assert two.chat(f"what is TEA {'good ' * number}")["choices"]
    store.start()
    before = one.chat("What is a kettle?")

    def again() -> bool:
        one.chat("What is a kettle?", reame={"arca": {"similar": True}})
        return noted(two.chat("what is a KETTLE")).get("answer") == "similar"

    assert before["choices"]
    wait_until(
        lambda: one.metric("reame_arca_store_available") == two.metric("reame_arca_store_available") == 1
    )
    two.chat("Which cup?")
    until_published(store, "Which cup?")
    assert noted(one.chat("which CUP")).get("question") == "Which cup?"
