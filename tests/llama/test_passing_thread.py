"""What is computed in a passing thread, and what becomes of the thread."""

from __future__ import annotations

import threading

import pytest

from reame_core.llama.passing_thread import in_passing_thread


def test_what_runs_there_has_ended_with_its_thread() -> None:
    seen: list[threading.Thread] = []

    def work() -> int:
        seen.append(threading.current_thread())
        return 3

    assert in_passing_thread(work) == 3
    assert seen[0] is not threading.current_thread()
    assert not seen[0].is_alive()


def test_errors_come_through() -> None:
    def fail() -> None:
        raise KeyError("why")

    with pytest.raises(KeyError, match="why"):
        in_passing_thread(fail)
