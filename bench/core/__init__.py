"""The core's measurements: one module each, with ``measure(case)`` and what it compares in its docstring."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from bench.case import Case
from bench.host import CpuWatch
from bench.quiet import Quiet
from bench.report import Result

NAMES = ("decode", "prefill", "users", "stall", "cancel", "steps", "neighbour", "buffers", "memory", "http")


def measure(name: str, case: Case) -> Result:
    """Run one of ``NAMES``."""
    module = import_module(f"bench.core.{name}")
    function: Callable[[Case, Result], None] = module.measure
    result = Result(name, case.name, " ".join((module.__doc__ or "").split()))
    case.quiet = Quiet(case.options.attempts)
    watch = CpuWatch()
    function(case, result)
    result.seconds, result.others_cpu = watch.seconds, watch.others_share()
    result.disturbed = case.quiet.worst
    return result
