"""The command line. Modules of the core that cost time to import are imported by the command that needs
them, so that ``reame --help`` answers at once."""

from __future__ import annotations

import atexit
import os
import signal
from typing import NoReturn

INTERRUPTED = 130


def main() -> None:
    """Entry point of the script ``reame``. Exits with 0, 1 (our fault), 2 (the caller's), 130 (Ctrl-C) or
    141 (nobody reads the output any more)."""
    # A process started with interrupts ignored, as by nohup, keeps ignoring them.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _first_interrupt)
        # The interpreter takes its handlers away before it is gone: one more would then be a death by signal.
        # The price: if it hangs from then on, nobody can interrupt it.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    try:
        from reame_core.cli.app import reame

        reame(prog_name="reame")
    except KeyboardInterrupt:  # before or after the commands' own handling
        os._exit(INTERRUPTED)


def _first_interrupt(*_: object) -> NoReturn:
    """Clean up and leave, unless the user has no patience for that: the second interrupt ends at once."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    raise KeyboardInterrupt
