"""Which weight buffers and threads are tried, and which ones win."""

from __future__ import annotations

from pathlib import Path

import pytest

from reame_core.llama.model import WeightBuffers
from reame_core.llama.trials import Outcome, Setup, Speed
from reame_core.llama.tuning import Tensor, Tuning, candidates, tune

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
PATH = Path("model.gguf")
Speeds = dict[tuple[WeightBuffers, int], Speed]


def tuned(speeds: Speeds, threads: list[int]) -> Tuning:
    def trial(file: Path, setup: Setup) -> Outcome:
        assert file == PATH
        speed = speeds.get((setup.buffers, setup.threads))
        return Outcome(setup, speed, "" if speed else "llama.cpp crashed (SIGSEGV)")

    return tune(PATH, candidates(MATRICES), threads, progress=lambda line: None, trial=trial)


def winner(speeds: dict[WeightBuffers, Speed]) -> WeightBuffers:
    tuning = tuned({(buffers, 2): speed for buffers, speed in speeds.items()}, [2])
    assert [outcome.setup.buffers for outcome in tuning.outcomes] == [PLAIN, EVERYTHING, Q4_K, Q8_0]
    return tuning.best.setup.buffers


def test_matrices_of_the_layers_are_tried_by_type_and_plain_weights_first() -> None:
    assert candidates(MATRICES) == [PLAIN, EVERYTHING, Q4_K, Q8_0]
    assert candidates([]) == [PLAIN, EVERYTHING]


def test_the_fastest_survivor_wins() -> None:
    assert winner({PLAIN: Speed(10, 1, 10), Q4_K: Speed(7, 1.1, 10), Q8_0: Speed(9, 1, 10)}) == Q4_K


def test_slow_prefill_can_lose_what_fast_decoding_wins() -> None:
    assert winner({PLAIN: Speed(10, 1, 10), Q4_K: Speed(7, 5, 10)}) == PLAIN


def test_plain_weights_win_unless_others_are_clearly_faster() -> None:
    assert winner({PLAIN: Speed(10, 1, 10), Q4_K: Speed(9.9, 0.99, 10)}) == PLAIN


def test_between_two_copies_the_faster_one_wins() -> None:
    assert winner({PLAIN: Speed(10, 1, 10), Q4_K: Speed(8, 1, 10), Q8_0: Speed(7.9, 1, 10)}) == Q8_0


def test_nothing_survives() -> None:
    assert winner({}) == PLAIN
    assert tuned({}, [2]).best.speed is None


def test_only_what_survives_can_win() -> None:
    assert winner({Q4_K: Speed(20, 1, 10)}) == Q4_K


@pytest.mark.parametrize(
    ("of_four", "chosen"), [(Speed(5, 1, 10), 4), (Speed(6.9, 1, 10), 2), (Speed(8, 1, 10), 2)]
)
def test_other_numbers_of_threads_are_tried_with_the_best_buffers(of_four: Speed, chosen: int) -> None:
    tuning = tuned({(PLAIN, 2): Speed(10, 1, 10), (Q4_K, 2): Speed(7, 1, 10), (Q4_K, 4): of_four}, [2, 4])
    assert (tuning.outcomes[-1].setup.buffers, tuning.outcomes[-1].setup.threads) == (Q4_K, 4)
    assert tuning.best.setup.buffers == Q4_K
    assert tuning.best.setup.threads == chosen


@pytest.mark.parametrize(("without", "chosen"), [(Speed(10, 1, 100), True), (Speed(10, 1, 50), False)])
def test_the_other_attention_is_tried_with_the_best_of_all_else(without: Speed, chosen: bool) -> None:
    tried: list[Setup] = []

    def trial(file: Path, setup: Setup) -> Outcome:
        tried.append(setup)
        return Outcome(setup, Speed(10, 1, 100) if setup.flash_attention else without)

    tuning = tune(PATH, [PLAIN], [2], [True, False], progress=lambda line: None, trial=trial)
    assert [setup.flash_attention for setup in tried] == [True, False]
    assert tuning.best.setup.flash_attention is chosen
