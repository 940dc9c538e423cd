"""The keyboard while an answer comes: Ctrl-C stops it, anything else waits unseen for the next prompt."""

from __future__ import annotations

import contextlib
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOCAL_FLAGS = 3


@contextmanager
def interrupts(action: Callable[[], object]) -> Iterator[None]:
    """SIGINT calls ``action`` instead of raising KeyboardInterrupt. ``action`` must be something that can be
    done at any time."""
    before = signal.signal(signal.SIGINT, lambda *_: action())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def unseen_typing() -> Iterator[None]:
    """Nothing that is typed appears on the terminal; it is kept for whoever reads next."""
    try:
        import termios
    except ImportError:  # not a POSIX system
        yield
        return
    try:
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
        during = termios.tcgetattr(descriptor)
        during[_LOCAL_FLAGS] &= ~termios.ECHO
        termios.tcsetattr(descriptor, termios.TCSANOW, during)
    except (OSError, ValueError, termios.error):  # no terminal, or no longer one
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError, termios.error):
            termios.tcsetattr(descriptor, termios.TCSANOW, before)
