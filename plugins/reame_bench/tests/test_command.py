"""The command, and a real server for a few requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def reame(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "reame_core", "bench", *arguments],
        env=os.environ | {"REAME_HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_listing(tmp_path: Path) -> None:
    done = reame("--list", home=tmp_path)
    assert done.returncode == 0
    assert "triage" in done.stdout
    assert "llama-cpp-python" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--only", "everything"], "--only 'everything' is no workload"),
        (["--server", "x"], "--server 'x' is not known"),
        (["no-such-model"], "no-such-model"),
        (["--simulate"], "--simulate needs --json FILE with learning curves"),
    ],
)
def test_wrong_wishes_are_one_line(tmp_path: Path, arguments: list[str], problem: str) -> None:
    done = reame(*arguments, home=tmp_path)
    assert done.returncode == 2
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.model
def test_a_smoke_run_measures_draws_and_goes_on(tmp_path: Path) -> None:
    wishes = ["--smoke", "--only", "triage", "--only", "prefix", "--server", "reame", "--json", "r.json"]
    done = reame(*wishes, "--plots", "plots", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "#### Triage of tickets" in done.stdout
    results = json.loads((tmp_path / "r.json").read_text())
    assert results["host"]["cpu"]
    triage, prefix = results["units"]
    assert triage["figures"]["first"] > 0
    assert len(triage["curves"]["seconds"]) == len(triage["curves"]["again seconds"]) == 3
    assert prefix["figures"]["restarted"] > 0
    assert str(tmp_path) not in triage["command"]
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {
        "triage-smollm2-135m.png",
        "prefix-smollm2-135m.png",
    }
    again = reame(*wishes, home=tmp_path)
    assert again.returncode == 0
    assert json.loads((tmp_path / "r.json").read_text())["units"] == results["units"]
