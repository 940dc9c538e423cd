"""What only a process of its own can show: imports, signals, pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAVY = (
    *("numpy", "litestar", "llama_cpp", "jinja2", "msgspec", "rich", "psutil", "pluggy", "platformdirs"),
    *("prompt_toolkit", "markdown_it"),
)

# A session that says a word and then waits for ever, or says words for ever.
PROGRAM = """
import sys, threading, types
from contextlib import contextmanager
from reame_core.engine.events import TextDelta

class Session:
    chat_stops = ()

    def chat_tokens(self, messages):
        return (1,)
    def stream(self, request):
        try:
            yield TextDelta(0, "word", (1,))
            while sys.argv[-1] == "waiting":
                threading.Event().wait()
            while True:
                yield TextDelta(0, "word " * 1000, (1,))
        finally:
            print("cancelled", file=sys.stderr, flush=True)

@contextmanager
def open_session(*args, **kwargs):
    yield Session()

sys.modules["reame_core.session"] = types.SimpleNamespace(open_session=open_session)
from reame_core.cli import main
main()
"""


@contextmanager
def started(prompt: str, folder: Path, stdout: int = subprocess.PIPE) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is killed if it takes absurdly long, so that a fault fails instead of hanging."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "run", "tiny", prompt],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=folder,
        # Buffered, as users have it: what is left in a buffer at exit is part of these tests.
        env={
            name: value
            for name, value in os.environ.items()
            if not name.startswith("REAME_") and name != "PYTHONUNBUFFERED"
        },
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        with process:
            yield process
    finally:
        watchdog.cancel()


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys, json, atexit\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        "from reame_core.cli import main\n"
        "main()\n"
    )
    for arguments in (["--help"], ["run", "--help"], ["config", "-h"], ["--version"]):
        ran = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        assert ran.stdout
        modules = {name.partition(".")[0] for name in json.loads(ran.stderr)}
        assert "click" in modules
        # The list of all commands is the plugins', too, and so are options of run.
        asks_plugins = arguments in (["--help"], ["run", "--help"])
        needed = {"pluggy", "msgspec", "platformdirs"} if asks_plugins else set()
        assert modules.isdisjoint(set(HEAVY) - needed), arguments


def test_an_interrupt_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    with started("waiting", tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.read(4) == b"word"
        process.send_signal(signal.SIGINT)
        out, error = process.communicate()
    assert (process.returncode, out, error) == (130, b"\n", b"cancelled\n")


def test_an_interrupt_while_the_interpreter_goes_away_is_too_late(tmp_path: Path) -> None:
    program = (
        "import os, signal\n"
        "class Last:\n"
        "    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT): kill(pid, number)\n"
        "last = Last()\n"
        "from reame_core.cli import main\n"
        "main()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, "--version"],
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    with started("talking", tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(4) == b"word"
        process.stdout.close()
        error = process.stderr.read()
        process.wait()
    assert (process.returncode, error) == (141, b"cancelled\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with started("talking", tmp_path, stdout=full) as process:
        os.close(full)
        _, error = process.communicate()
    assert process.returncode == 1
    assert error == b"cancelled\nerror: cannot write to standard output: No space left on device\n"


def test_the_package_is_a_program(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "reame_core", "rnu"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "error: no such command 'rnu'; did you mean 'run'?; see reame --help\n"
