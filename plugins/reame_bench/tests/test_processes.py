from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from reame_bench.processes import ServerProcess, free_port, tree_cpu_seconds

SLEEPING = "import time; time.sleep(60)"
PARENT = f"""
import subprocess, sys, time
print(subprocess.Popen([sys.executable, "-c", {SLEEPING!r}]).pid, flush=True)
time.sleep(60)
"""
HARNESS = """
import os, sys, time
from pathlib import Path
from reame_bench.processes import ServerProcess
print(ServerProcess([sys.executable, "-c", sys.argv[1]], os.environ, Path(sys.argv[2])).pid, flush=True)
time.sleep(60)
"""


def _gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).wait(20) is not None or not psutil.pid_exists(pid)
    except psutil.NoSuchProcess:
        return True


def _first_line(log: Path, running: ServerProcess) -> str:
    while running.running:
        text = log.read_text() if log.exists() else ""
        if text.endswith("\n"):
            return text.split()[0]
    raise AssertionError(running.ending())


def test_a_server_ends_with_all_its_children(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    server = ServerProcess([sys.executable, "-c", PARENT], os.environ, log)
    child = int(_first_line(log, server))
    assert server.cpu_seconds() > 0
    assert server.resident_bytes() > 1_000_000
    server.end()
    server.end()
    assert not server.running
    assert _gone(child)
    assert server.cpu_seconds() == 0.0
    assert "status -15" in server.ending()


@pytest.mark.skipif(sys.platform != "linux", reason="by a signal of Linux")
def test_a_server_dies_with_a_harness_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HARNESS, SLEEPING, str(tmp_path / "log")]
    harness = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert harness.stdout is not None
    server = int(harness.stdout.readline())
    harness.send_signal(signal.SIGKILL)
    harness.communicate()
    assert _gone(server)


def test_what_a_server_said_last(tmp_path: Path) -> None:
    server = ServerProcess(
        [sys.executable, "-c", "raise SystemExit('no such model')"], os.environ, tmp_path / "log"
    )
    while server.running:
        pass
    assert server.ending() == "it ended with status 1: no such model"


def test_processes_that_are_gone_take_no_time() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    process = psutil.Process(ended.pid)
    ended.wait()
    assert tree_cpu_seconds(process) == 0.0
    assert 1024 < free_port() < 65536
