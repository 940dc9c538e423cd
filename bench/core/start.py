"""The second start of ``reame run``: from the command to the first letter of a short answer, with every
installed plugin and with none. The bytecode of Python modules is cached, as it is after any first start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.case import Case
from bench.report import Figure, Result, Target
from bench.rounds import rounds

PROMPT, TOKENS = "Name a fish.", "8"
LIMIT_S = 1.5
PLUGINS = {"every plugin": None, "no plugin": ""}


def measure(case: Case, result: Result) -> None:
    with TemporaryDirectory() as home:
        contestants = {
            label: partial(_first_letter, case, Path(home), plugins) for label, plugins in PLUGINS.items()
        }
        for first_start in contestants.values():
            first_start()
        seconds = rounds(case.rounds, contestants, case.quiet)
    for label, values in seconds.items():
        target = Target("≤", LIMIT_S) if case.small else None
        result.figures.append(Figure.of(f"{label}: first token", values, "s", target=target))


def _first_letter(case: Case, home: Path, plugins: str | None) -> float:
    """Seconds until something of the answer is there."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"REAME_HOME": str(home), "PYTHONPYCACHEPREFIX": str(home / "bytecode")}
    if plugins is not None:
        environment["REAME_PLUGINS"] = plugins
    command = [sys.executable, "-m", "reame_core", "run", str(case.path), PROMPT, "--max-tokens", TOKENS]
    started = time.perf_counter()
    with subprocess.Popen(
        [*command, "--threads", str(case.threads)], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        seconds = time.perf_counter() - started
        process.stdout.read()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} exited with {process.returncode}")
    return seconds
