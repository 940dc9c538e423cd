"""What the engine promises of a real model: company, memory and chunks change nothing, token for token."""

from __future__ import annotations

import numpy as np
import pytest

from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, Finished, TextDelta
from reame_core.engine.exactness import find_exact_shapes
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.noise import find_noise
from reame_core.engine.request import Request, SamplingParams
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.plugins.api import Draft

pytestmark = pytest.mark.model

SYSTEM = "<|im_start|>system\nYou sort support tickets. Answer with one short sentence.<|im_end|>\n"
QUESTIONS = (
    "My invoice of March shows the wrong address.",
    "The app crashes when I open the settings on my phone, and it did so last week as well.",
    "How do I cancel?",
    "Please send me the data sheet of the drill; I could not find it on the product page.",
)
ANSWER = 24


class Run:
    """Requests on one backend, its memory emptied before."""

    def __init__(self, backend: LlamaBackend, hooks: EngineHooks | None = None, **options: object) -> None:
        backend.clear()
        self.backend = backend
        settings = {"context_length": 512, "parallel": 4, "max_rows": 63, "price_drafts": False} | options
        self.engine = Engine(backend, EngineOptions(**settings), hooks)
        self.events: dict[tuple[int, int], list[Event]] = {}
        self._requests = 0

    def submit(self, question: str, **fields: object) -> int:
        text = f"{SYSTEM}<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        number = self._requests
        self._requests += 1

        def sink(events: list[Event]) -> None:
            for event in events:
                self.events.setdefault((number, event.choice), []).append(event)

        prompt = tuple(self.backend.tokenize(text, parse_special=True))
        self.engine.submit(Request(prompt=prompt, max_tokens=ANSWER, ignore_end=True, **fields), sink)
        return number

    def finish(self) -> None:
        while self.engine.step():
            pass

    def tokens(self, request: int, choice: int = 0) -> list[int]:
        deltas = [e for e in self.events[request, choice] if isinstance(e, TextDelta)]
        return [token for delta in deltas for token in delta.tokens]

    def usage(self, request: int, choice: int = 0):
        last = self.events[request, choice][-1]
        assert isinstance(last, Finished)
        return last.usage


def alone(backend: LlamaBackend, question: str, **options: object) -> list[int]:
    run = Run(backend, **options)
    number = run.submit(question)
    run.finish()
    assert run.usage(number).computed == run.usage(number).prompt
    return run.tokens(number)


@pytest.fixture(scope="module")
def plain(smollm2: LlamaBackend) -> dict[str, list[int]]:
    return {question: alone(smollm2, question) for question in QUESTIONS}


def test_four_interleaved_users(smollm2: LlamaBackend, plain: dict[str, list[int]]) -> None:
    run = Run(smollm2)
    numbers = [run.submit(question) for question in QUESTIONS]
    run.finish()
    assert [run.tokens(n) for n in numbers] == [plain[q] for q in QUESTIONS]
    assert any(run.usage(n).reused.get("ram", 0) > 10 for n in numbers), "the system text was shared"


def test_remembered_prefixes(smollm2: LlamaBackend, plain: dict[str, list[int]]) -> None:
    run = Run(smollm2)
    for question in (*QUESTIONS, *QUESTIONS):
        number = run.submit(question)
        run.finish()
        assert run.tokens(number) == plain[question]
    usage = run.usage(number)
    assert usage.computed == 1
    assert usage.reused == {"ram": usage.prompt - 1}


@pytest.mark.parametrize("rows", [7, 32])
def test_other_chunks(smollm2: LlamaBackend, plain: dict[str, list[int]], rows: int) -> None:
    assert alone(smollm2, QUESTIONS[1], max_rows=rows) == plain[QUESTIONS[1]]


def test_three_choices(smollm2: LlamaBackend, plain: dict[str, list[int]]) -> None:
    run = Run(smollm2)
    # A temperature this low is greedy, but it is not known to be: all three are computed.
    number = run.submit(QUESTIONS[0], n=3, sampling=SamplingParams(temperature=1e-5, seed=1))
    run.finish()
    assert [run.tokens(number, choice) for choice in range(3)] == [plain[QUESTIONS[0]]] * 3
    assert sum(run.usage(number, choice).computed for choice in range(3)) == run.usage(number).prompt + 2


def test_drafts_right_and_wrong(smollm2: LlamaBackend, plain: dict[str, list[int]]) -> None:
    def propose(sequence, limit):
        known = plain[QUESTIONS[2]]
        done = len(sequence.tokens) - sequence.prompt_length
        guess = known[done : done + min(limit, 5)]
        if done % 4 == 2 and len(guess) > 2:
            guess[2] = 17  # some other token
        return Draft(guess) if guess else None

    hooks = EngineHooks(propose_draft=GuardedHook((("test", propose),)))
    run = Run(smollm2, hooks, price_drafts=False)
    number = run.submit(QUESTIONS[2])
    run.finish()
    assert run.tokens(number) == plain[QUESTIONS[2]]
    assert 0 < run.usage(number).accepted < run.usage(number).drafted


def test_cells_survive_export_and_import(smollm2: LlamaBackend, plain: dict[str, list[int]]) -> None:
    stored: dict[tuple[int, ...], bytes] = {}

    def persist(sequence, kv, stage):
        for end in range(16, kv.length + 1, 16):
            stored[tuple(sequence.tokens[:end].tolist())] = kv.export(end - 16, end)

    def on_prefill(sequence, kv):
        restored = 0
        for end in range(16, sequence.prompt_length, 16):
            state = stored.get(tuple(sequence.tokens[:end].tolist()))
            if end <= kv.length or state is None or not kv.restore(end, state):
                continue
            restored += 16
        return restored or None

    run = Run(smollm2, EngineHooks(persist=GuardedHook((("store", persist),))))
    run.submit(QUESTIONS[1])
    run.finish()
    again = Run(smollm2, EngineHooks(on_prefill=GuardedHook((("store", on_prefill),))))
    number = again.submit(QUESTIONS[1])
    again.finish()
    assert again.tokens(number) == plain[QUESTIONS[1]]
    assert again.usage(number).reused["store"] >= 32


@pytest.mark.parametrize("model", ["smollm2-135m", "qwen2.5-coder-0.5b"])
def test_exact_mode_with_two_threads(model, smollm2_path, other_model) -> None:
    """With two threads a lone row over a long context computes something else than two: padding mends it."""
    path = smollm2_path if model == "smollm2-135m" else other_model(model)
    backend = LlamaBackend(path, LlamaOptions(kv_cells=2048, threads=2, max_rows=63, max_outputs=63))
    try:
        shapes = find_exact_shapes(backend, backend.tokenize(" ".join(QUESTIONS)))
        assert shapes.most >= (32 if path == smollm2_path else 2)
        plain = [alone(backend, question, exact=shapes) for question in QUESTIONS]
        run = Run(backend, exact=shapes)
        numbers = [run.submit(question) for question in QUESTIONS]
        run.finish()
        assert [run.tokens(n) for n in numbers] == plain
        again = run.submit(QUESTIONS[0])
        run.finish()
        assert run.tokens(again) == plain[0]
        assert run.usage(again).computed == 1
    finally:
        backend.close()


def check_by_noise_rule(plain: list[tuple[int, float]], found: list[int], floor: float) -> None:
    """``found`` says what ``plain`` says up to a tie: (token, how far it is ahead of the second best)."""
    for number, ((token, lead), other) in enumerate(zip(plain, found, strict=True)):
        if other != token:
            assert lead <= floor, f"token {number} differs although the best was {lead:.3f} ahead"
            return


def test_default_mode_of_a_k_quant_by_the_noise_rule(other_model) -> None:
    """Kernels for other numbers of rows round otherwise: answers differ at ties only, and what follows a tie is
    another text. See docs/benchmarks.md and the floor's own measurement."""
    path = other_model("qwen2.5-coder-0.5b")
    backend = LlamaBackend(path, LlamaOptions(kv_cells=4096, threads=2))
    default = {"max_rows": 512}
    try:
        floor = find_noise(backend, backend.tokenize(" ".join(QUESTIONS))).floor
        assert 0 < floor < 1
        plain = {}
        for question in QUESTIONS:
            run = Run(backend, **default)
            number = run.submit(question, logprobs=2)
            run.finish()
            entries = [e for d in run.events[number, 0] if isinstance(d, TextDelta) for e in d.logprobs]
            plain[question] = [(e.token, e.top[0][1] - e.top[1][1]) for e in entries]
        company = Run(backend, **default)
        numbers = [company.submit(question) for question in QUESTIONS]
        company.finish()
        again = company.submit(QUESTIONS[1])
        company.finish()
        assert company.usage(again).computed == 1
        choices = company.submit(QUESTIONS[0], n=3, sampling=SamplingParams(temperature=1e-5, seed=1))
        company.finish()
        for question, number in zip(QUESTIONS, numbers, strict=True):
            check_by_noise_rule(plain[question], company.tokens(number), floor)
        check_by_noise_rule(plain[QUESTIONS[1]], company.tokens(again), floor)
        for choice in range(3):
            check_by_noise_rule(plain[QUESTIONS[0]], company.tokens(choices, choice), floor)
        for rows in (7, 63):
            check_by_noise_rule(plain[QUESTIONS[3]], alone(backend, QUESTIONS[3], max_rows=rows), floor)
    finally:
        backend.close()


def test_logprobs_are_those_of_the_logits(smollm2: LlamaBackend) -> None:
    run = Run(smollm2)
    number = run.submit(QUESTIONS[2], logprobs=5)
    run.finish()
    entries = [entry for e in run.events[number, 0] if isinstance(e, TextDelta) for entry in e.logprobs]
    assert len(entries) == ANSWER
    for entry in entries:
        assert entry.token == entry.top[0][0], "greedy takes the best"
        assert entry.logprob == entry.top[0][1] <= 0
        assert sum(np.exp(logprob) for _, logprob in entry.top) <= 1 + 1e-6
