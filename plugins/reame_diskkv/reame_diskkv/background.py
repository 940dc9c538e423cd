"""Threads that others compute beside."""

from __future__ import annotations

import contextlib
import os
import sys
import threading


def be_nice() -> None:
    """Lowest priority for this thread alone, as Linux can do it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
