from __future__ import annotations

import pytest
from reame_bench.client import Client, Reply
from reame_bench.errors import BenchError, NotOffered

from plugins.reame_bench.tests.stub import WORDS, stub

ASK = [{"role": "user", "content": "?"}]


def test_a_stream_is_read_with_times_and_usage() -> None:
    with stub() as server:
        reply = Client(server.url, "a-model").chat(ASK, 5, seed=3)
    assert reply.text == "".join(WORDS)
    assert (reply.tokens, reply.prompt_tokens, reply.cached, reply.finish) == (42, 9, 7, "length")
    assert len(reply.times) == 5
    assert 0 < reply.first <= reply.times[-1] <= reply.seconds
    [asked] = server.asked
    assert (asked["model"], asked["temperature"], asked["seed"], asked["max_tokens"]) == ("a-model", 0, 3, 5)


def test_without_usage_pieces_are_counted() -> None:
    with stub(usage=False) as server:
        assert Client(server.url, "m").chat(ASK, 4).tokens == 4


def test_refusals_and_failures_are_told_apart() -> None:
    with stub(refuse="response_format") as server:
        client = Client(server.url, "m")
        with pytest.raises(NotOffered, match=r"status 400: .*response_format is not supported"):
            client.chat(ASK, 4, response_format={})
        with pytest.raises(NotOffered):
            client.choices(ASK, 4, response_format={})
        assert client.choices(ASK, 4)["choices"]
        assert client.healthy()
        assert client.status("/status") == {}
    assert not client.healthy()
    with pytest.raises(BenchError, match="broke off"):
        client.chat(ASK, 4)


@pytest.mark.parametrize(
    ("how", "problem"), [("error", "out of luck"), ("silence", "in the middle of a stream")]
)
def test_a_stream_that_ends_early_is_no_answer(how: str, problem: str) -> None:
    with stub(break_off=how) as server, pytest.raises(BenchError, match=problem):
        Client(server.url, "m").chat(ASK, 4)


@pytest.mark.parametrize("url", ["https://a.example", "here", "http://"])
def test_addresses(url: str) -> None:
    with pytest.raises(BenchError):
        Client(url, "m")


def test_the_rate_of_an_answer_leaves_the_prompt_out_where_it_can() -> None:
    times = [1.0, 1.5, 2.0, 2.5, 3.0]
    assert Reply(seconds=3.0, first=1.0, tokens=9, times=times).rate == 4.0
    assert Reply(seconds=3.0, first=1.0, tokens=9, times=[1.0, 3.0]).rate == 3.0, "all at once"
    assert Reply(seconds=3.0, first=1.0, tokens=1, times=[1.0]).rate == 0.0
