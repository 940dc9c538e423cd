"""What can go wrong with a contestant; the other contestants go on."""

from __future__ import annotations

from reame_core.errors import ReameError


class BenchError(ReameError):
    """A server that does not start, ends on the way or answers nonsense. One line."""


class NotOffered(BenchError):
    """The server cannot do what the workload asks for, such as structured output."""
