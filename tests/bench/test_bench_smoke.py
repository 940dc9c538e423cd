"""The benchmarks run and report. What they measure is nobody's business in a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reame_core.models.catalogue import resolve

ROOT = Path(__file__).parents[2]


@pytest.mark.model
def test_quick_run_reports_figures_host_and_command(tmp_path: Path) -> None:
    model = resolve("smollm2-135m").path
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "bench", "core", "--model", str(model), "--quick", "--threads", "1"]
    run = subprocess.run(
        [*command, "--only", "decode", "--only", "steps", "--json", str(report)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "| engine / bare loop, speed " in run.stdout
    written = json.loads(report.read_text())
    assert written["host"]["cpu"]
    assert str(model.parent) not in written["command"]
    decode, steps = written["results"]
    assert (decode["measurement"], steps["measurement"]) == ("decode", "steps")
    assert all(figure["value"] > 0 for figure in decode["figures"] + steps["figures"])
    assert "chose the same tokens" in decode["notes"][0]
