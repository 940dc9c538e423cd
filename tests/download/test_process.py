"""Pulling in processes of their own, which are interrupted and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from reame_core.errors import ModelError
from reame_core.models.catalogue import open_catalogue, resolve
from tests.download.conftest import a_model
from tests.download.file_server import FileServer, hold

SIZE = 2_000_000


class Pulling:
    """``reame pull`` of a model that comes as far as a test lets it."""

    def __init__(self, server: FileServer, tmp_path: Path) -> None:
        self.server = server
        self.home = tmp_path / "home"
        self.content = server.files["/m.gguf"] = a_model(SIZE)
        self._go_on: list[threading.Event] = []

    def start(self) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("REAME_")}
        return subprocess.Popen(
            [sys.executable, "-m", "reame_core", "pull", f"{self.server.url}/m.gguf"],
            env=environment | {"REAME_HOME": str(self.home), "TERM": "dumb"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def ended_by(self, number: int, after: int, *, twice: bool = False) -> tuple[int, str]:
        """Let ``after`` more bytes come, send the signal, and tell exit code and stderr."""
        reached, go_on = threading.Event(), threading.Event()
        self.server.misdeeds[:] = [hold(after, reached, go_on)]
        wanted = self.here + after
        with self.start() as process:
            watchdog = threading.Timer(60, process.kill)
            watchdog.start()
            try:
                assert reached.wait(60)
                # What was sent has arrived when the part has it: nothing else tells.
                while self.here < wanted and process.poll() is None:
                    os.sched_yield()
                process.send_signal(number)
                if twice:
                    process.send_signal(number)
                _, said = process.communicate()
            finally:
                watchdog.cancel()
                go_on.set()
        return process.returncode, said.decode()

    @property
    def here(self) -> int:
        part = self.home / "models" / ".reame" / "m.gguf.part"
        return part.stat().st_size if part.exists() else 0

    def finish(self) -> tuple[bytes, str | None]:
        """Pull to the end: the model, and the range that was asked for."""
        before = len(self.server.requests)
        with self.start() as process:
            path, said = process.communicate()
        assert process.returncode == 0, said
        ranges = [request.range for request in self.server.requests[before:]]
        return Path(path.decode().strip()).read_bytes(), ranges[0] if ranges else None

    def name_is_unknown(self) -> bool:
        try:
            resolve("m", open_catalogue(environ={"REAME_HOME": str(self.home)}))
        except ModelError:
            return True
        return False


@pytest.fixture
def pulling(server: FileServer, tmp_path: Path) -> Pulling:
    return Pulling(server, tmp_path)


def interrupted(pulling: Pulling, number: int, after: int, *, twice: bool = False) -> int:
    code, said = pulling.ended_by(number, after, twice=twice)
    assert "Traceback" not in said
    assert pulling.name_is_unknown()
    return code


# case 116
def test_case_116_interrupts_keep_what_is_here_and_the_next_call_goes_on(pulling: Pulling) -> None:
    code, said = pulling.ended_by(signal.SIGINT, 600_000)
    assert code == 130
    assert said.splitlines()[-1].startswith("interrupted: ")
    assert said.splitlines()[-1].endswith("are here, and the next reame pull goes on from there")
    first = pulling.here
    assert 0 < first <= 600_000
    assert interrupted(pulling, signal.SIGINT, 600_000, twice=True) == 130
    second = pulling.here
    assert first < second <= first + 600_000
    content, asked_for = pulling.finish()
    assert (content, asked_for) == (pulling.content, f"bytes={second}-")


# case 118: killed in the middle, it is no model; and what was written goes on
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_case_118_a_killed_download_is_no_model(pulling: Pulling, number: int) -> None:
    assert interrupted(pulling, number, 1_000_000) == -number
    here = pulling.here
    content, asked_for = pulling.finish()
    assert (content, asked_for) == (pulling.content, f"bytes={here}-")


def test_case_120_a_killed_process_leaves_no_lock_behind(pulling: Pulling) -> None:
    assert interrupted(pulling, signal.SIGKILL, 1_000_000) == -signal.SIGKILL
    content, _ = pulling.finish()
    assert content == pulling.content
