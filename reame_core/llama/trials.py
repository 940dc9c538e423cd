"""Trying out how to load a model, in a process of its own that may die."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from reame_core.llama.model import WeightBuffers

log = logging.getLogger("reame.llama")

PROMPT_ROWS, ANSWER_TOKENS, DRAFTS = 64, 48, 2
"""The request whose time decides: this much prompt that nobody has computed before, so many tokens one by one
and so many batches with a draft. What prompts have in common is remembered, so decoding counts for more than
in the requests themselves."""
DRAFT_ROWS = 16
"""Of a batch with a draft, and of a short prompt behind what is remembered. Attention is its larger part
there."""
_SECONDS_PER_GB = 120
_LEAST_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One way to load and compute a model."""

    threads: int
    buffers: WeightBuffers = field(default_factory=WeightBuffers)
    batch_rows: int = 128
    """Prompt tokens in one batch."""
    flash_attention: bool = True
    kv_type: str = "f16"
    spin: str | None = None
    """How long OpenMP's threads spin (``GOMP_SPINCOUNT``); None for Reame's choice."""


@dataclass(frozen=True, slots=True)
class Speed:
    """In milliseconds, behind some hundreds of tokens: a one-row batch, one row of a large batch, and a batch
    of ``DRAFT_ROWS`` rows that all yield logits."""

    decode_ms: float
    prefill_ms: float
    draft_ms: float

    @property
    def typical_request(self) -> float:
        return ANSWER_TOKENS * self.decode_ms + PROMPT_ROWS * self.prefill_ms + DRAFTS * self.draft_ms


@dataclass(frozen=True, slots=True)
class Outcome:
    """``speed`` is None where ``setup`` does not work here; ``failure`` says how it ended."""

    setup: Setup
    speed: Speed | None
    failure: str = ""


Trial = Callable[[Path, Setup], Outcome]


def try_out(path: Path, setup: Setup, timeout: float | None = None) -> Outcome:
    """Measure ``setup`` in a child process. Crashing, hanging and failing are results."""
    seconds = timeout or max(_LEAST_SECONDS, _SECONDS_PER_GB * path.stat().st_size / 1e9)
    environment = dict(os.environ)
    if setup.spin is not None:
        environment["GOMP_SPINCOUNT"] = setup.spin
    try:
        child = subprocess.run(
            [sys.executable, "-m", "reame_core.llama.probe"],
            input=json.dumps({"path": str(path), **asdict(setup)}),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return Outcome(setup, None, f"no result after {seconds:.0f} s")
    except OSError as error:
        return Outcome(setup, None, f"no process could be started ({error.strerror or error})")
    if child.returncode != 0:
        return Outcome(setup, None, _how_it_ended(child.returncode, child.stderr))
    try:
        return Outcome(setup, Speed(**json.loads(child.stdout)))
    except (ValueError, TypeError):
        return Outcome(setup, None, "the trial gave no figures")


def _how_it_ended(status: int, complaints: str) -> str:
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"llama.cpp crashed ({name})"
    last = complaints.strip().splitlines()[-1:] or ["it gave no reason"]
    return f"it failed ({last[0]})"
