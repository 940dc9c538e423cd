"""kill -9 at any moment: at worst the newest blocks are lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EFFORT = int(os.environ.get("REAME_TEST_EFFORT", "1"))
ROOT = Path(__file__).parents[3]


def killed(what: str, folder: Path, rounds: int) -> int:
    """How many of so many rounds of ``killing.py`` were killed before they were done."""
    program = Path(__file__).with_name("killing.py")
    ran = subprocess.run(
        [sys.executable, program, what, folder, str(rounds), "1"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    [count] = re.findall(r"^(\d+) killed", ran.stdout, re.MULTILINE)
    return int(count)


@pytest.mark.parametrize("what", ["store", "server"])
def test_killed_at_any_line(tmp_path: Path, what: str) -> None:
    # case 27
    rounds = 50 * EFFORT
    assert killed(what, tmp_path, rounds) > rounds // 2, "later rounds have less to write"
