"""kill -9 at any moment: at worst the newest blocks are lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

EFFORT = int(os.environ.get("REAME_TEST_EFFORT", "1"))
ROOT = Path(__file__).parents[3]


def test_killed_at_any_line(tmp_path: Path) -> None:
    # case 27
    rounds = 50 * EFFORT
    program = Path(__file__).with_name("killing.py")
    ran = subprocess.run(
        [sys.executable, program, tmp_path, str(rounds), "1"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    [killed] = re.findall(r"^(\d+) killed", ran.stdout, re.MULTILINE)
    assert int(killed) > rounds // 2, "later rounds have less to write, and may end before they are killed"
