"""Real kernels: what was restored from disk goes on token for token like what was computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from plugins.reame_diskkv.tests.driver import BLOCK, Server, server
from plugins.reame_diskkv.tests.test_killing import killed
from reame_core.engine.request import Request, SamplingParams
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.models.catalogue import resolve
from reame_core.plugins.api import Draft
from tests.model.tiny_models import SLIDING_WINDOW, write_mamba, write_sliding_window

pytestmark = pytest.mark.model

SYSTEM = (
    "<|im_start|>system\nYou sort the support tickets of a shop for tools and machines. Answer with one short "
    "sentence, name the department, and never promise a date.<|im_end|>\n"
)
QUESTIONS = (
    "My invoice of March shows the wrong address.",
    "The app crashes when I open the settings on my phone, and it did so last week as well.",
    "How do I cancel?",
)
ANSWER = 10


@contextmanager
def loaded(kv_type: str, kv_cells: int = 1024) -> Iterator[LlamaBackend]:
    """One thread and at most 63 rows: any two batches compute bit-identical rows, wherever the cells lie."""
    path = resolve("smollm2-135m").path
    options = LlamaOptions(kv_cells=kv_cells, threads=1, max_rows=63, max_outputs=63, kv_type=kv_type)
    backend = LlamaBackend(path, options)
    try:
        yield backend
    finally:
        backend.close()


@pytest.fixture(scope="module")
def smollm2() -> Iterator[LlamaBackend]:
    with loaded("f16") as backend:
        yield backend


def prompt(backend: LlamaBackend, question: str) -> tuple[int, ...]:
    text = f"{SYSTEM}<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
    return tuple(backend.tokenize(text, parse_special=True))


def restarted(folder: Path, backend: LlamaBackend, **options: object) -> Server:
    """A server that knows nothing but what is on disk."""
    backend.clear()
    return Server(folder, backend=backend, max_rows=63, **options)  # type: ignore[arg-type]


@cache
def cold(backend: LlamaBackend, tokens: tuple[int, ...]) -> list[int]:
    """What a prompt is answered when all of it is computed."""
    backend.clear()
    with server(Path("/nonexistent"), backend=backend, options={"max_size_mb": 0}, max_rows=63) as plain:
        return plain.ask(tokens, ANSWER, ignore_end=True, reuse=False).tokens


def test_answers_after_a_restart_are_the_cold_ones(smollm2: LlamaBackend, tmp_path: Path) -> None:
    prompts = [prompt(smollm2, question) for question in QUESTIONS]
    expected = [cold(smollm2, tokens) for tokens in prompts]
    first = restarted(tmp_path, smollm2)
    assert [first.ask(tokens, ANSWER, ignore_end=True).tokens for tokens in prompts] == expected
    first.close()
    again = restarted(tmp_path, smollm2)
    answers = [again.ask(tokens, ANSWER, ignore_end=True) for tokens in reversed(prompts)]
    again.close()
    assert [answer.tokens for answer in reversed(answers)] == expected
    assert answers[0].usage.computed == 1
    assert answers[0].restored == len(prompts[-1]) - 1
    shared = len(smollm2.tokenize(SYSTEM, parse_special=True))
    other = restarted(tmp_path, smollm2)
    question = prompt(smollm2, "Where is my parcel?")
    answer = other.ask(question, ANSWER, ignore_end=True)
    other.close()
    assert answer.restored >= shared
    assert answer.tokens == cold(smollm2, question)


def test_a_quantised_cache(tmp_path: Path) -> None:
    # case 24
    with loaded("q8_0") as backend:
        tokens = prompt(backend, QUESTIONS[2])
        for _ in range(2):
            each = restarted(tmp_path, backend)
            answer = each.ask(tokens, ANSWER, ignore_end=True)
            each.close()
            assert answer.tokens == cold(backend, tokens)
        assert answer.usage.computed == 1


def test_from_memory_and_from_disk_again(smollm2: LlamaBackend, tmp_path: Path) -> None:
    tokens = prompt(smollm2, QUESTIONS[0])
    each = restarted(tmp_path, smollm2)
    answers = [each.ask(tokens, ANSWER, ignore_end=True) for _ in range(2)]
    each.forget()
    answers.append(each.ask(tokens, ANSWER, ignore_end=True))
    each.close()
    assert [answer.tokens for answer in answers] == [cold(smollm2, tokens)] * 3
    assert [answer.usage.reused for answer in answers] == [
        {},
        {"ram": len(tokens) - 1},
        {"diskkv": len(tokens) - 1},
    ]


def test_four_users_share_and_branch_with_drafts_after_a_restart(smollm2: LlamaBackend, tmp_path: Path) -> None:
    prompts = [prompt(smollm2, question) for question in QUESTIONS]
    prompts.append((*prompts[1][:-20], *prompts[0][-30:]))
    expected = {tokens: cold(smollm2, tokens) for tokens in prompts}

    def propose(sequence, limit):
        known = expected[sequence.request.prompt]
        done = len(sequence.tokens) - sequence.prompt_length
        guess = known[done : done + min(limit, 5)]
        if done % 2 == 1 and len(guess) > 2:
            guess[2] = 17
        return Draft(guess) if guess else None

    for _ in range(2):
        together = restarted(tmp_path, smollm2, other_hooks={"propose_draft": propose}, price_drafts=False)
        asked = [Request(prompt=tokens, max_tokens=ANSWER, ignore_end=True) for tokens in prompts]
        answers = together.play(*asked)
        together.flush()
        together.close()
        assert [answer.tokens for [answer] in answers] == list(expected.values())
    assert answers[0][0].restored > 0
    assert sum(answer.usage.accepted for [answer] in answers) > 0


def test_three_choices_after_a_restart(smollm2: LlamaBackend, tmp_path: Path) -> None:
    tokens = prompt(smollm2, QUESTIONS[2])
    # A temperature this low is greedy, but it is not known to be: all three are computed.
    asked = Request(
        prompt=tokens,
        max_tokens=ANSWER,
        ignore_end=True,
        n=3,
        sampling=SamplingParams(temperature=1e-5, seed=1),
    )
    for _ in range(2):
        each = restarted(tmp_path, smollm2)
        [answers] = each.play(asked)
        each.flush()
        each.close()
        assert [answer.tokens for answer in answers] == [cold(smollm2, tokens)] * 3
    assert sum(answer.restored for answer in answers) == len(tokens) - 1


def test_a_cancelled_answer_goes_on_after_a_restart(smollm2: LlamaBackend, tmp_path: Path) -> None:
    # case 25
    tokens = prompt(smollm2, QUESTIONS[0])
    first = restarted(tmp_path, smollm2)
    [answer] = first.submit(Request(prompt=tokens, max_tokens=50, ignore_end=True))
    while len(answer.tokens) < 6:
        first.engine.step()
    first.engine.cancel(first.group)
    first.flush()
    first.close()
    more = tuple(smollm2.tokenize("<|im_end|>\n<|im_start|>user\nShorter!", parse_special=True))
    following = (*tokens, *answer.tokens, *more)
    second = restarted(tmp_path, smollm2)
    again = second.ask(following, ANSWER, ignore_end=True)
    second.close()
    assert again.tokens == cold(smollm2, following)
    assert again.usage.computed <= len(more) + 1


def test_memory_for_hardly_more_than_one(smollm2: LlamaBackend, tmp_path: Path) -> None:
    # case 23
    prompts = [prompt(smollm2, question) for question in QUESTIONS]
    expected = [cold(smollm2, tokens) for tokens in prompts]
    longest = max(map(len, prompts)) + ANSWER
    with loaded("f16", kv_cells=longest + 8) as tiny:
        for _ in range(2):
            each = restarted(tmp_path, tiny, context_length=longest)
            asked = [Request(prompt=tokens, max_tokens=ANSWER, ignore_end=True) for tokens in prompts]
            answers = each.play(*asked, *asked)
            each.flush()
            each.close()
            assert [answer.tokens for [answer] in answers] == expected * 2
    assert answers[0][0].restored > 0


def test_killed_at_fifty_points_while_it_writes(smollm2: LlamaBackend, tmp_path: Path) -> None:
    # case 27
    tokens = prompt(smollm2, QUESTIONS[1])[:58]
    expected = cold(smollm2, tokens)[:3]
    first = restarted(tmp_path / "whole", smollm2)
    first.ask(tokens, 1, ignore_end=True)
    first.close()
    assert killed("copy", tmp_path, 50) > 45
    restored = set()
    for number in range(50):
        each = restarted(tmp_path / str(number), smollm2)
        while not each.service.cache.store.swept:
            each.flush()
        answer = each.ask(tokens, 3, ignore_end=True)
        each.close()
        assert answer.tokens == expected
        restored.add(answer.restored)
    assert {0, BLOCK, len(tokens) - 1} <= restored


def test_the_next_turn_after_a_restart(smollm2: LlamaBackend, tmp_path: Path) -> None:
    history = prompt(smollm2, QUESTIONS[0])
    for turn in range(2):
        server_ = restarted(tmp_path, smollm2)
        answer = server_.ask(history, ANSWER, ignore_end=True)
        server_.close()
        assert answer.tokens == cold(smollm2, history)
        if turn:
            assert answer.usage.computed <= 12
        more = tuple(smollm2.tokenize("<|im_end|>\n<|im_start|>user\nAnd then?", parse_special=True))
        history = (*history, *answer.tokens, *more)


@pytest.mark.parametrize("length", [SLIDING_WINDOW - 10, SLIDING_WINDOW + 10, 3 * SLIDING_WINDOW])
def test_sliding_windows(tmp_path: Path, length: int) -> None:
    # case 3
    path = write_sliding_window(tmp_path / "gemma.gguf")
    options = LlamaOptions(kv_cells=512, threads=1, max_sequences=12, max_rows=63)
    backend = LlamaBackend(path, options)
    try:
        tokens = (1, *(100 + (7 * i * i + i) % 90 for i in range(length - 1)))
        other = (*tokens[: length * 2 // 3], *(200 - i for i in range(12)))
        expected = [cold(backend, each) for each in (tokens, other)]
        for _ in range(2):
            each = restarted(tmp_path / "kv", backend, context_length=256)
            answers = [each.ask(asked, ANSWER, ignore_end=True) for asked in (tokens, other)]
            each.close()
            assert [answer.tokens for answer in answers] == expected
        assert answers[0].usage.computed == 1
    finally:
        backend.close()


def test_recurrent_models_are_declined(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    backend = LlamaBackend(write_mamba(tmp_path / "mamba.gguf"), LlamaOptions(kv_cells=256, threads=1))
    try:
        tokens = tuple(range(10, 60))
        with server(tmp_path / "kv", backend=backend) as each:
            answers = [each.ask(tokens, ANSWER, ignore_end=True).tokens for _ in range(2)]
        assert answers[0] == answers[1]
        assert caplog.text.count("the disk cache is off") == 1
    finally:
        backend.close()
