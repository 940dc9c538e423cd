"""Votes over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from reame_conclave.service import Service

from plugins.reame_conclave.tests.support import CHAT, serving, vote
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import ApiRequest, FieldService
from reame_core.testing import FakeBackend, RuleConstraint
from tests.server.support import GatedBackend, Running, chat_body, content_of
from tests.server.test_disconnect import connected, read_until

REPLIES = {"Say hi": "Hello there!", "How many": "It is 5.", "Sum": "3 + 2 = 5"}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving(backend=FakeBackend(cells=4096, replies=REPLIES), parallel=5) as running:
        yield running


def told(answer: dict[str, Any]) -> dict[str, Any]:
    found = answer["reame"]["plugins"]["conclave"]
    assert isinstance(found, dict)
    return found


def test_the_response_tells_the_vote(server: Running) -> None:
    body = chat_body("How many", temperature=0, max_tokens=40, **vote(n=5, judge="number", stop="never"))
    response = server.http.post(CHAT, json=body)
    answer = response.json()
    [choice] = answer["choices"]
    assert (choice["index"], choice["message"]["content"], choice["finish_reason"]) == (0, "It is 5.", "stop")
    assert choice["logprobs"] is None
    conclave = told(answer)
    assert conclave["n"] == conclave["consensus"] == 5
    assert (conclave["decided_by"], conclave["winner"], conclave["answer"]) == ("votes", 0, "5")
    assert (conclave["judge"], conclave["stop"], conclave["escalate"]) == ("number", "never", False)
    assert conclave["votes"] == [{"answer": "5", "votes": 5, "candidates": [0, 1, 2, 3, 4]}]
    assert conclave["tokens"] == {
        "generated": answer["usage"]["completion_tokens"],
        "cancelled": 0,
        "saved": 0,
    }
    assert "candidates" not in conclave
    assert response.headers["x-reame-consensus"] == "5/5"
    assert "x-reame-escalate" not in response.headers


def test_case_110_usage_counts_all_candidates(server: Running) -> None:
    body = chat_body("Else", temperature=0, seed=1, max_tokens=20, ignore_eos=True)
    alone = server.http.post(CHAT, json=body).json()["usage"]
    answer = server.http.post(CHAT, json=body | vote(n=4, stop="never")).json()
    assert answer["usage"]["prompt_tokens"] == alone["prompt_tokens"]
    assert answer["usage"]["completion_tokens"] == 4 * alone["completion_tokens"] == 80
    stopped = server.http.post(CHAT, json=body | {"messages": chat_body("Sum")["messages"]} | vote(n=5)).json()
    assert stopped["usage"]["completion_tokens"] == told(stopped)["tokens"]["generated"]


def test_all_candidates_where_they_are_wanted(server: Running) -> None:
    body = chat_body("Else", temperature=0, seed=1, max_tokens=12)
    answer = server.http.post(CHAT, json=body | vote(n=3, stop="never", candidates=True)).json()
    candidates = told(answer)["candidates"]
    assert [each["index"] for each in candidates] == [0, 1, 2]
    assert [each["temperature"] for each in candidates] == [0, 0.5, 0.9]
    assert candidates[0]["text"] == server.http.post(CHAT, json=body).json()["choices"][0]["message"]["content"]
    winner = told(answer)["winner"]
    assert answer["choices"][0]["message"]["content"] == candidates[winner]["text"]
    assert {each["state"] for each in candidates} <= {"ended", "truncated"}
    assert all(each["tokens"] > 0 and each["logprob"] < 0 for each in candidates)


@pytest.mark.parametrize("stop", ["never", "majority"])
def test_the_winner_is_streamed(server: Running, stop: str) -> None:
    body = chat_body("Sum", temperature=0, seed=2, max_tokens=30, **vote(n=5, stop=stop))
    whole = server.http.post(CHAT, json=body).json()
    chunks = server.chunks(CHAT, body | {"stream_options": {"include_usage": True}})
    assert content_of(chunks) == whole["choices"][0]["message"]["content"] == "3 + 2 = 5"
    assert {choice["index"] for chunk in chunks for choice in chunk["choices"]} == {0}
    reasons = [c["finish_reason"] for chunk in chunks for c in chunk["choices"] if c["finish_reason"]]
    assert reasons == ["stop"]
    assert told(chunks[-1]) == told(whole)
    assert chunks[-1]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]


def test_the_same_vote_again(server: Running) -> None:
    body = chat_body("Anything", temperature=0.8, seed=11, max_tokens=20, **vote(n=5, candidates=True))
    first, second = (server.http.post(CHAT, json=body).json() for _ in range(2))
    assert first["choices"] == second["choices"]
    assert told(first) == told(second)


def test_plain_completions_and_several_prompts(server: Running) -> None:
    both = server.complete(["How many", "Anything"], temperature=0, max_tokens=16, **vote(n=3, stop="never"))
    answer = both.json()
    assert [choice["index"] for choice in answer["choices"]] == [0, 1]
    reports = answer["reame"]["plugins"]["conclave"]
    assert reports[0]["answer"] == "5"
    assert both.headers["x-reame-consensus"] == ", ".join(f"{r['consensus']}/3" for r in reports)
    for prompt, choice, report in zip(("How many", "Anything"), answer["choices"], reports, strict=True):
        alone = server.complete(prompt, temperature=0, max_tokens=16, **vote(n=3, stop="never")).json()
        assert alone["choices"][0]["text"] == choice["text"]
        assert told(alone) == report


def test_too_few_agree(server: Running) -> None:
    body = chat_body("Anything", temperature=0, seed=1, max_tokens=20)
    split = server.http.post(CHAT, json=body | vote(n=4, min_consensus=0.75))
    conclave = told(split.json())
    assert conclave["consensus"] < 3
    assert conclave["escalate"] is True
    assert split.headers["x-reame-escalate"] == "true"
    assert split.json()["choices"][0]["finish_reason"] in ("stop", "length")
    sure = server.chat(
        "How many", temperature=0, max_tokens=40, **vote(n=4, judge="number", min_consensus=0.75)
    )
    assert told(sure.json())["escalate"] is False
    assert sure.headers["x-reame-escalate"] == "false"


def test_case_113_no_answer_to_vote_for(server: Running) -> None:
    body = chat_body("A poem", temperature=0, seed=1, max_tokens=8, ignore_eos=True)
    for judge in ("number", "json", "prose", "choice"):
        answer = server.http.post(CHAT, json=body | vote(n=3, judge=judge)).json()
        assert answer["choices"][0]["finish_reason"] == "length"
        assert told(answer)["decided_by"] in ("prose", "votes", "tie", "probability")
        assert answer["choices"][0]["message"]["content"]
    empty = server.chat("A poem", temperature=0, max_tokens=8, logit_bias={"257": 100}, **vote(n=3)).json()
    assert empty["choices"][0]["message"]["content"] == ""
    assert (told(empty)["decided_by"], told(empty)["consensus"]) == ("probability", 0)


def test_case_115_votes_of_one_and_greedy_ones(server: Running) -> None:
    one = server.chat("How many", temperature=0, **vote(n=1)).json()
    assert one["choices"][0]["message"]["content"] == "It is 5."
    assert (told(one)["consensus"], told(one)["winner"]) == (1, 0)
    assert (
        one["usage"]["completion_tokens"]
        == server.chat("How many", temperature=0).json()["usage"]["completion_tokens"]
    )


@pytest.mark.parametrize(
    ("path", "fields", "param"),
    [
        (CHAT, vote(n=0), "reame.conclave.n"),
        (CHAT, vote(n=-1), "reame.conclave.n"),
        (CHAT, vote(n=1000), "reame.conclave.n"),
        (CHAT, vote(pattern="("), "reame.conclave.pattern"),
        (CHAT, {"n": 2, **vote(n=5)}, "n"),
        ("/v1/completions", {"best_of": 5, **vote(n=5)}, "best_of"),
        ("/v1/completions", {"best_of": 5, "stream": True}, "best_of"),
    ],
)
def test_case_115_what_does_not_go_together(
    server: Running, path: str, fields: dict[str, object], param: str
) -> None:
    body = chat_body() if path == CHAT else {"model": "fake", "prompt": "Once"}
    refused = server.http.post(path, json=body | fields)
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == param


def test_best_of_keeps_its_meaning_without_a_vote(server: Running) -> None:
    fields = {"temperature": 1.2, "seed": 4, "max_tokens": 10, "ignore_eos": True, "logprobs": 0}
    four = server.complete("Once", n=4, **fields).json()["choices"]
    best = server.complete("Once", best_of=4, **fields).json()
    means = [sum(each["logprobs"]["token_logprobs"]) for each in four]
    assert best["choices"][0]["text"] == four[means.index(max(means))]["text"]
    assert "plugins" not in best["reame"]
    assert best["usage"]["completion_tokens"] == 40


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("window", [None, 2])
def test_case_111_a_client_that_leaves_stops_all_candidates(stream: bool, window: int | None) -> None:
    wishes = {"n": 6} | ({"window": window} if window else {})
    body = chat_body("Go on", max_tokens=200, ignore_eos=True, stream=stream, **vote(**wishes))
    with serving(backend=GatedBackend(cells=4096), parallel=3) as running:
        running.gate.hold()
        with connected(running, body):
            running.gate.allow(4)
            running.gate.wait_until_blocked()
        running.wait_until(lambda: not running.state.exchanges)
        running.gate.allow(None)
        running.wait_until_idle()
        assert running.model.worker.engine.waiting == 0
        assert running.chat("Say hi", max_tokens=3).status_code == 200


def test_a_stream_is_kept_alive_until_the_vote_is_over() -> None:
    body = chat_body("How many", temperature=0, max_tokens=40, stream=True, **vote(n=3, judge="number"))
    backend = GatedBackend(cells=4096, replies=REPLIES)
    with serving(backend=backend, keep_alive_s=0.02) as running:
        running.gate.hold()
        with connected(running, body) as connection:
            silent = read_until(connection, b": keep-alive")
            assert b"200 OK" in silent
            assert b"data:" not in silent
            running.gate.allow(None)
            assert b"It is 5." in read_until(connection, b"data: [DONE]")


def test_metrics() -> None:
    with serving(backend=FakeBackend(cells=4096, replies=REPLIES)) as running:
        assert 'reame_conclave_votes_total{decided_by="votes"} 0.0' in running.http.get("/metrics").text
        running.chat("How many", temperature=0, max_tokens=40, **vote(n=3, judge="number"))
        running.wait_until_idle()
        text = running.http.get("/metrics").text
        assert 'reame_conclave_votes_total{decided_by="votes"} 1.0' in text
        assert running.metric("reame_conclave_tokens_total", kind="generated") > 0


class Digits:
    """``response_format``: one digit in an object, and the content without its braces."""

    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        if "response_format" not in request.fields:
            return None
        return FieldService(
            fields=frozenset({"response_format"}),
            constraint=lambda _: RuleConstraint(_one_digit),
            parser=lambda _: Trimmed(),
        )


def _one_digit(said: tuple[int, ...]) -> Sequence[int]:
    template: list[Sequence[int]] = [b"{", b'"', b"a", b'"', b":", b"0123456789", b"}"]
    return list(template[len(said)]) if len(said) < len(template) else []


class Trimmed:
    """A parser."""

    def push(self, text: str) -> list[str]:
        return [text.strip("{}")]

    def end(self) -> list[str]:
        return []


def test_structured_candidates() -> None:
    body = chat_body("A digit", temperature=1, seed=3, response_format={"type": "json_object"})
    with serving(("digits", Digits()), parallel=5) as running:
        answer = running.http.post(CHAT, json=body | vote(n=5, stop="never", candidates=True)).json()
        texts = [each["text"] for each in told(answer)["candidates"]]
        values = [json.loads(text)["a"] for text in texts]
        assert len(set(values)) > 1
        assert answer["choices"][0]["message"]["content"] == texts[told(answer)["winner"]].strip("{}")
        assert told(answer)["consensus"] == max(map(values.count, values))
        chunks = running.chunks(CHAT, body | vote(n=5, stop="never"))
        assert content_of(chunks) == answer["choices"][0]["message"]["content"]


def test_a_judge_that_breaks_costs_nobody_his_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise RuntimeError("broken")

    monkeypatch.setattr(Service, "judge", broken)
    with serving() as running:
        answer = running.chat("Say hi", max_tokens=10, **vote(n=3))
        assert answer.status_code == 200
        assert answer.json()["choices"][0]["message"]["content"]
        assert (told(answer.json())["decided_by"], told(answer.json())["consensus"]) == (None, 0)


def test_among_other_users() -> None:
    with serving(backend=FakeBackend(cells=4096, replies=REPLIES), parallel=2) as running:
        alone = running.chat("Else", temperature=0, max_tokens=12).json()["choices"]
        body = chat_body("How many", temperature=0, max_tokens=40, **vote(n=8, judge="number"))
        client = running.openai()
        stream = client.chat.completions.create(**chat_body("Go on", max_tokens=50), stream=True)
        answer = running.http.post(CHAT, json=body).json()
        assert answer["choices"][0]["message"]["content"] == "It is 5."
        for _ in stream:
            pass
        assert running.chat("Else", temperature=0, max_tokens=12).json()["choices"] == alone
