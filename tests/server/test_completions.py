"""POST /v1/completions: prompts in all forms, echo, logprobs, best_of, suffix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reame_core.testing import FakeBackend
from reame_core.testing import fake_vocabulary as vocabulary
from tests.server.support import FakeModel, Running, running

LEGACY = "/v1/completions"


def texts(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [choice["text"] for choice in answer.json()["choices"]]


def test_with_the_openai_client(shared: Running) -> None:
    answer = shared.openai().completions.create(model="fake", prompt="Say hi", temperature=0, max_tokens=30)
    assert answer.object == "text_completion"
    assert answer.choices[0].text == "Hello there!"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None


def test_sixteen_tokens_where_nobody_says_how_many(shared: Running) -> None:
    assert shared.complete(ignore_eos=True).json()["usage"]["completion_tokens"] == 16


def test_a_list_of_prompts(shared: Running) -> None:
    both = shared.complete(["Say hi", "Say greek"], temperature=0, max_tokens=40)
    assert texts(both) == ["Hello there!", "alpha beta gamma delta"]
    assert [choice["index"] for choice in both.json()["choices"]] == [0, 1]
    single = [
        shared.complete(prompt, temperature=0, max_tokens=40).json() for prompt in ("Say hi", "Say greek")
    ]
    usage = both.json()["usage"]
    assert usage["prompt_tokens"] == sum(answer["usage"]["prompt_tokens"] for answer in single)
    assert usage["completion_tokens"] == sum(answer["usage"]["completion_tokens"] for answer in single)


def test_token_ids(shared: Running) -> None:
    tokens = [vocabulary.BOS, *vocabulary.tokenize("Say hi")]
    assert texts(shared.complete(tokens, temperature=0, max_tokens=30)) == ["Hello there!"]
    assert texts(shared.complete([tokens, tokens], temperature=0, max_tokens=30)) == ["Hello there!"] * 2
    assert texts(shared.complete([float(t) for t in tokens], temperature=0, max_tokens=30)) == ["Hello there!"]


def test_case_110_two_prompts_times_three(shared: Running) -> None:
    answer = shared.complete(["one", "two"], n=3, seed=5, max_tokens=6, ignore_eos=True)
    assert [choice["index"] for choice in answer.json()["choices"]] == list(range(6))
    assert texts(answer)[:3] == texts(shared.complete("one", n=3, seed=5, max_tokens=6, ignore_eos=True))
    assert texts(answer)[3:] == texts(shared.complete("two", n=3, seed=5, max_tokens=6, ignore_eos=True))
    assert answer.json()["usage"]["completion_tokens"] == 36


@pytest.mark.parametrize(
    ("prompt", "status"),
    [
        ("", 200),
        ([""], 200),
        ([], 400),
        ([[]], 400),
        (" ", 200),
        (["good", ""], 200),
        ([["x"]], 400),
        ([1, "a"], 400),
    ],
)
def test_case_71_empty_prompts(shared: Running, prompt: Any, status: int) -> None:
    """The fake model has a beginning token, which is all of an empty prompt."""
    answer = shared.complete(prompt, max_tokens=2)
    assert answer.status_code == status
    if status == 400:
        assert answer.json()["error"]["param"].startswith("prompt")


def test_case_71_without_a_beginning_token_an_empty_prompt_is_refused() -> None:
    backend = FakeBackend()
    backend._info = replace(backend.info, adds_bos=False)
    with running(FakeModel(backend)) as server:
        for prompt in ("", [""], ["good", ""]):
            answer = server.complete(prompt, max_tokens=2)
            assert answer.status_code == 400
            assert answer.json()["error"]["param"].startswith("prompt")
        assert server.complete("good", max_tokens=2).status_code == 200


def test_tokens_outside_the_vocabulary(shared: Running) -> None:
    for tokens in ([-1], [vocabulary.SIZE], [True], [1.5]):
        assert shared.complete(tokens).status_code == 400


def test_echo(shared: Running) -> None:
    body = {"temperature": 0, "max_tokens": 30, "echo": True}
    assert texts(shared.complete("Say hi", **body)) == ["Say hiHello there!"]
    assert texts(shared.complete(["Say hi", "Say greek"], n=2, **body))[1:3] == [
        "Say hiHello there!",
        "Say greekalpha beta gamma delta",
    ]
    chunks = shared.chunks(LEGACY, {"model": "fake", "prompt": "Say hi", **body})
    assert "".join(c["text"] for chunk in chunks for c in chunk["choices"]) == "Say hiHello there!"


def test_case_79_echo_is_exact(shared: Running) -> None:
    for prompt in (" two blanks  ", "\nline\n", "é👩‍🚀"):
        [text] = texts(shared.complete(prompt, echo=True, max_tokens=1, temperature=0))
        assert text.startswith(prompt)


@pytest.mark.parametrize("logprobs", [0, 1, 5])
def test_case_102_logprobs_in_the_legacy_form(shared: Running, logprobs: int) -> None:
    body = {"prompt": "Say hi", "temperature": 0, "max_tokens": 30, "logprobs": logprobs}
    [choice] = shared.complete(**body).json()["choices"]
    lists = choice["logprobs"]
    assert "".join(lists["tokens"]) == choice["text"]
    assert len({len(lists[name]) for name in lists}) == 1
    assert set(lists) == {"tokens", "token_logprobs", "top_logprobs", "text_offset"}
    for token, offset in zip(lists["tokens"], lists["text_offset"], strict=True):
        assert choice["text"][offset:].startswith(token)
    assert all(value <= 0 for value in lists["token_logprobs"])
    assert all(len(each) in (max(1, logprobs), logprobs + 1) for each in lists["top_logprobs"])
    chunks = shared.chunks(LEGACY, {"model": "fake", **body})
    streamed = [c["logprobs"] for chunk in chunks for c in chunk["choices"] if c["logprobs"]]
    for name in lists:
        assert [item for each in streamed for item in each[name]] == lists[name]


def test_case_102_logprobs_with_several_choices(shared: Running) -> None:
    answer = shared.complete("x", n=2, logprobs=1, max_tokens=4, ignore_eos=True).json()
    for choice in answer["choices"]:
        assert {len(values) for values in choice["logprobs"].values()} == {4}
        assert choice["logprobs"]["text_offset"][0] == 0


def test_best_of_gives_the_most_probable(shared: Running) -> None:
    body = {
        "prompt": "Which",
        "seed": 11,
        "max_tokens": 8,
        "temperature": 1.2,
        "logprobs": 0,
        "ignore_eos": True,
    }
    everything = shared.complete(**body, n=6).json()["choices"]

    def mean(choice: dict[str, Any]) -> float:
        values = choice["logprobs"]["token_logprobs"]
        return float(sum(values) / len(values))

    ranked = [choice["text"] for choice in sorted(everything, key=mean, reverse=True)]
    answer = shared.complete(**body, best_of=6, n=2)
    assert texts(answer) == ranked[:2]
    assert answer.json()["usage"]["completion_tokens"] == 48
    assert texts(shared.complete(**{**body, "logprobs": None}, best_of=6)) == ranked[:1]


def test_case_115_best_of_and_n(shared: Running) -> None:
    refused = shared.complete(best_of=1, n=5)
    assert refused.status_code == 400
    assert "best_of" in refused.json()["error"]["message"]
    assert "n is 5" in refused.json()["error"]["message"]
    assert shared.complete(best_of=5, n=1, max_tokens=2).status_code == 200
    assert shared.complete(best_of=5, temperature=0, max_tokens=2).status_code == 200
    assert shared.complete(best_of=2, stream=True).status_code == 400
    for n in (0, -1, 1000):
        assert shared.complete(n=n).json()["error"]["param"] == "n"
        assert shared.chat(n=n).json()["error"]["param"] == "n"
    assert shared.complete(best_of=1000).json()["error"]["param"] in ("best_of", "n", "prompt")
    assert shared.complete(["x"] * 129).status_code == 400


def test_case_115_greedy_candidates_are_computed_once(shared: Running) -> None:
    before = shared.backend.rows_computed
    shared.complete("All the same to me", best_of=5, temperature=0, max_tokens=3, ignore_eos=True)
    assert shared.backend.rows_computed - before < 2 * len("All the same to me")


def test_suffix_needs_a_model_that_can_fill_in(shared: Running) -> None:
    refused = shared.complete("def f(", suffix="return x").json()["error"]
    assert refused["param"] == "suffix"
    assert "fake" in refused["message"]


def test_suffix_is_put_behind_the_prompt() -> None:
    backend = FakeBackend(end_bias=-50)
    before, after, middle = 1, 2, 3
    backend._info = replace(backend.info, fill_in_middle=(before, after, middle))
    seen: list[tuple[int, ...]] = []
    model = FakeModel(backend)
    check = model.worker.engine.check
    model.worker.engine.check = lambda request: (seen.append(request.prompt), check(request))[1]  # type: ignore[method-assign]
    with running(model) as server:
        assert server.complete("ab", suffix="cd", max_tokens=2).status_code == 200
        tokens = vocabulary.tokenize
        assert seen[0] == (vocabulary.BOS, before, *tokens("ab"), after, *tokens("cd"), middle)
        assert server.complete([1, 2], suffix="cd").json()["error"]["param"] == "prompt"


def test_embeddings_are_refused_by_name(shared: Running) -> None:
    refused = shared.http.post("/v1/embeddings", json={"model": "fake", "input": "x"})
    assert refused.status_code == 400
    assert "embeddings" in refused.json()["error"]["message"]
