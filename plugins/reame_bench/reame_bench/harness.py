"""Runs workloads against contestants, in turn, and keeps what they say."""

from __future__ import annotations

import time
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from reame_bench.errors import BenchError, NotOffered
from reame_bench.host import CpuWatch
from reame_bench.results import Results, Unit
from reame_bench.workloads.workload import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reame_bench.servers.server import Contestant, Job
    from reame_bench.sizes import Size
    from reame_bench.workloads.workload import Outcome, Workload


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. ``deadline`` by ``time.monotonic``: no unit begins after it."""

    workloads: Sequence[Workload]
    contestants: Sequence[Contestant]
    jobs: Sequence[Job]
    size: Size
    command: str
    deadline: float = float("inf")

    def units(self) -> Iterator[tuple[Workload, Contestant, Job, int]]:
        """Contestants take turns within a round, in another order each round, so that neighbours in time are
        compared and none always comes first."""
        for job in self.jobs:
            for workload in self.workloads:
                taking = [each for each in self.contestants if workload.takes(each)]
                for turn in range(self.size.rounds):
                    start = turn % len(taking) if taking else 0
                    for contestant in (*taking[start:], *taking[:start]):
                        yield workload, contestant, job, turn


def measure(plan: Plan, results: Results, progress: Callable[[str], None]) -> int:
    """Run what ``results`` does not have yet; the number of units that failed."""
    failed = 0
    for workload, contestant, job, turn in plan.units():
        label = f"{workload.name}, {job.name}, {contestant.name}"
        if plan.size.rounds > 1:
            label += f", round {turn + 1} of {plan.size.rounds}"
        unit = Unit(
            workload=workload.name,
            model=job.name,
            contestant=contestant.name,
            round=turn,
            size=plan.size.name,
            command=plan.command,
        )
        if unit.key in results.done:
            continue
        if time.monotonic() > plan.deadline:
            progress("the time is over; the same command goes on from here")
            break
        progress(label)
        try:
            _measure(unit, workload, contestant, job, plan, progress)
        except NotOffered as refusal:
            unit.problem = f"not offered: {refusal}"
        except BenchError as error:
            # Not kept: the next run tries again.
            failed += 1
            progress(f"{label}: failed: {error}")
            continue
        results.add(unit)
    return failed


def _measure(
    unit: Unit,
    workload: Workload,
    contestant: Contestant,
    job: Job,
    plan: Plan,
    progress: Callable[[str], None],
) -> None:
    from pathlib import Path

    with TemporaryDirectory(prefix="reame-bench-") as folder:
        stage = Stage(contestant, job, Path(folder), plan.size, progress, plan.deadline)
        with stage:
            watch = CpuWatch()
            outcome: Outcome = workload.run(stage)
            unit.seconds, unit.others_cpu = watch.seconds, watch.others_share()
            unit.resident_mb = stage.server.resident_bytes() / 1e6
            unit.facts = stage.server.facts()
    unit.figures, unit.curves, unit.notes = outcome.figures, outcome.curves, outcome.notes
