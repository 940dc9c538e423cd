"""A trial is a process of its own: whatever becomes of it is a result."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reame_core.llama import trials
from reame_core.llama.trials import Outcome, Setup, try_out

SETUP = Setup(threads=1)


@pytest.fixture
def outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Outcome:
    program = tmp_path / "python"
    program.write_text(f"#!{sys.executable}\n{request.param}\n")
    program.chmod(0o755)
    monkeypatch.setattr(trials.sys, "executable", str(program))
    return try_out(tmp_path / "model.gguf", SETUP, 1.0 if "sleep" in request.param else 30.0)


@pytest.mark.parametrize(
    ("outcome", "failure"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "llama.cpp crashed (SIGSEGV)"),
        ("import os; os.abort()", "llama.cpp crashed (SIGABRT)"),
        ("import sys; sys.exit('no such tensor')", "it failed (no such tensor)"),
        ("import sys; sys.exit(3)", "it failed (it gave no reason)"),
        ("print('no json')", "the trial gave no figures"),
        ("print('{}')", "the trial gave no figures"),
        ("import time; time.sleep(60)", "no result after 1 s"),
    ],
    indirect=["outcome"],
)
def test_a_trial_that_crashes_hangs_or_babbles_is_a_finding(outcome: Outcome, failure: str) -> None:
    assert outcome == Outcome(SETUP, None, failure)


@pytest.mark.parametrize(
    "outcome",
    [
        "import json, sys; json.load(sys.stdin); "
        "print(json.dumps({'decode_ms': 2.5, 'prefill_ms': 0.5, 'draft_ms': 10}))"
    ],
    indirect=True,
)
def test_a_trial_that_ends_well_has_a_speed(outcome: Outcome) -> None:
    assert outcome.speed == trials.Speed(2.5, 0.5, 10)
    assert outcome.failure == ""


def test_a_trial_that_cannot_start_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials.sys, "executable", str(tmp_path / "nothing"))
    assert "no process could be started" in try_out(tmp_path / "model.gguf", SETUP, 1.0).failure
