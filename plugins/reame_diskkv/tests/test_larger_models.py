"""K-quants and a real sliding window. Their kernels for one row and for many differ by a little, so that an
answer may leave the cold one where the two best tokens are as close as that, with or without a disk. The files
are looked for in the folder that ``REAME_TEST_MODELS`` names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from plugins.reame_diskkv.tests.driver import Answer, Server, server
from reame_core.llama.backend import LlamaBackend, LlamaOptions

pytestmark = pytest.mark.model

NOISE = 0.8
"""Logits. Between one row and many the gap between the two best tokens moves by up to 0.5 on these models, and
the later tokens of an answer have moved cells behind them, too."""
ANSWER = 12
TEXT = Path(__file__).with_name("killing.py").read_text() + Path(__file__).with_name("driver.py").read_text()


@contextmanager
def loaded(name: str) -> Iterator[LlamaBackend]:
    path = Path(os.environ.get("REAME_TEST_MODELS", "/nonexistent"), f"{name}.gguf")
    if not path.exists():
        pytest.skip(f"REAME_TEST_MODELS names no folder with {name}.gguf")
    # With one thread it does not matter where cells lie.
    backend = LlamaBackend(path, LlamaOptions(kv_cells=4096, threads=1))
    try:
        yield backend
    finally:
        backend.close()


@contextmanager
def restarted(folder: Path, backend: LlamaBackend) -> Iterator[Server]:
    backend.clear()
    with server(folder, backend=backend, max_rows=512, context_length=2048) as each:
        yield each


def ask(each: Server, tokens: tuple[int, ...]) -> Answer:
    return each.ask(tokens, ANSWER, ignore_end=True, logprobs=2)


def check(folder: Path, backend: LlamaBackend, prompt: tuple[int, ...], *others: tuple[int, ...]) -> None:
    """``others`` branch off ``prompt``. What comes from disk says, to the last bit of a probability, what comes
    from memory says, and within ``NOISE`` what all of it computed says."""
    with restarted(folder, backend) as first:
        cold, warm = ask(first, prompt), ask(first, prompt)
        shutil.copytree(folder, folder.with_name("copy"))
        branches = [ask(first, other) for other in others]
    assert warm.usage.reused == {"ram": len(prompt) - 1}
    with restarted(folder, backend) as second:
        again = ask(second, prompt)
    assert again.usage.reused == {"diskkv": len(prompt) - 1}
    check_identical(again, warm)
    check_close(again, cold)
    with restarted(folder.with_name("copy"), backend) as third:
        for other, branch in zip(others, branches, strict=True):
            third.forget()
            answer = ask(third, other)
            assert answer.restored == branch.usage.reused["ram"]
            check_identical(answer, branch)


def check_identical(answer: Answer, expected: Answer) -> None:
    assert answer.tokens == expected.tokens
    assert [each.logprob for each in answer.logprobs] == [each.logprob for each in expected.logprobs]


def check_close(answer: Answer, expected: Answer) -> None:
    """The same tokens, up to where the two best ones of the cold run are within the noise."""
    for position, (ours, theirs) in enumerate(zip(answer.tokens, expected.tokens, strict=True)):
        if ours != theirs:
            (_, best), (_, second) = expected.logprobs[position].top[:2]
            assert best - second <= NOISE, f"token {position} is another one by {best - second:.2f}"
            return


@pytest.mark.parametrize("beyond", [-10, 10, 1024])
def test_a_real_sliding_window(tmp_path: Path, beyond: int) -> None:
    # cases 3, 4
    with loaded("gemma-3-270m") as backend:
        assert backend.info.window == 512
        assert backend.info.bos is not None
        text, length = backend.tokenize(TEXT), backend.info.window + beyond
        prompt = (backend.info.bos, *text[: length - 1])
        check(tmp_path / "kv", backend, prompt, (*prompt[: length * 2 // 3], *text[2000:2020]))


def test_users_of_a_k_quant_share_and_branch(tmp_path: Path) -> None:
    # case 8
    with loaded("qwen2.5-coder-0.5b") as backend:
        text = backend.tokenize(TEXT)
        prompt = tuple(text[:300])
        branches = [(*prompt[:common], *text[600 + common :][:30]) for common in (210, 128, 30)]
        check(tmp_path / "kv", backend, prompt, *branches)
