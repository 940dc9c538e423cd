"""Which weight buffers are tried, and which one wins."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reame_core.llama import tuning
from reame_core.llama.model import WeightBuffers
from reame_core.llama.tuning import Speed, Tensor, candidates, fastest, measure

MATRICES = [
    Tensor("token_embd.weight", "Q4_K", 2),
    Tensor("blk.0.attn_q.weight", "Q4_K", 2),
    Tensor("blk.0.attn_norm.weight", "F32", 1),
    Tensor("blk.0.ffn_down.weight", "Q6_K", 2),
    Tensor("blk.1.attn_q.weight", "Q4_K", 2),
    Tensor("blk.1.ffn_up.weight", "Q8_0", 2),
]
PLAIN, EVERYTHING = WeightBuffers(), WeightBuffers(extra=True)
Q4_K = WeightBuffers(repacked=("blk.0.attn_q.weight", "blk.1.attn_q.weight"))
Q8_0 = WeightBuffers(repacked=("blk.1.ffn_up.weight",))


def winner(tmp_path: Path, speeds: dict[WeightBuffers, Speed | None]) -> WeightBuffers:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"x")
    tried: list[WeightBuffers] = []

    def trial(file: Path, buffers: WeightBuffers, threads: int, timeout: float) -> Speed | None:
        assert (file, threads) == (path, 2)
        tried.append(buffers)
        return speeds.get(buffers)

    best = fastest(path, MATRICES, 2, progress=lambda line: None, trial=trial)
    assert tried == [PLAIN, EVERYTHING, Q4_K, Q8_0]
    return best


def test_matrices_of_the_layers_are_tried_by_type_and_plain_weights_first() -> None:
    assert candidates(MATRICES) == [PLAIN, EVERYTHING, Q4_K, Q8_0]
    assert candidates([]) == [PLAIN, EVERYTHING]


def test_the_fastest_survivor_wins(tmp_path: Path) -> None:
    crashed = None
    speeds = {PLAIN: Speed(10, 1), EVERYTHING: crashed, Q4_K: Speed(7, 1.1), Q8_0: Speed(9, 1)}
    assert winner(tmp_path, speeds) == Q4_K


def test_slow_prefill_can_lose_what_fast_decoding_wins(tmp_path: Path) -> None:
    assert winner(tmp_path, {PLAIN: Speed(10, 1), Q4_K: Speed(7, 5)}) == PLAIN


def test_plain_weights_win_unless_others_are_clearly_faster(tmp_path: Path) -> None:
    assert winner(tmp_path, {PLAIN: Speed(10, 1), Q4_K: Speed(9.9, 0.99)}) == PLAIN


def test_nothing_survives(tmp_path: Path) -> None:
    assert winner(tmp_path, {}) == PLAIN


@pytest.mark.parametrize(
    "child",
    [
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "import sys; sys.exit(3)",
        "print('no json')",
        "print('{}')",
        "import time; time.sleep(60)",
    ],
)
def test_a_trial_that_crashes_hangs_or_babbles_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, child: str
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!{sys.executable}\n{child}\n")
    program.chmod(0o755)
    monkeypatch.setattr(tuning.sys, "executable", str(program))
    timeout = 1.0 if "sleep" in child else 30.0
    assert measure(tmp_path / "model.gguf", PLAIN, 1, timeout) is None
