"""From measured results to a table of days and euros."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from reame_bench.figures import short, table
from reame_bench.simulate.costs import Company, Demand, demands
from reame_bench.simulate.day import capacity
from reame_core.errors import UsageError

if TYPE_CHECKING:
    from reame_bench.options import BenchOptions
    from reame_bench.results import Results, Run

KEY = "simulation"
EURO_A_MONTH = 5.0
"""What a virtual machine with two cores and 4 GB costs, about; another price scales every figure."""
PATIENCE = 4.0
"""95 % of all answers come within so many times what a request takes alone on a machine that knows its kind."""
REPEATS = 0.2
"""Share of requests that were asked before, word for word, in the column that has some."""


@dataclass(slots=True)
class Case:
    """One use case with one model on one kind of server."""

    use_case: str
    model: str
    contestant: str
    cold_s: float
    steady_s: float
    repeated_s: float
    archive: list[tuple[int, float]]
    per_day: int
    per_day_with_repeats: int
    within_s: float
    busy: float


def simulate(options: BenchOptions, results: Results) -> None:
    """Compute, print, and keep in ``results``. Raises UsageError where learning curves are missing."""
    from reame_core.cli.terminal import write

    cases = [
        _case(demand, results.run)
        for contestant in dict.fromkeys(unit.contestant for unit in results.run.units)
        for demand in demands(results.run, contestant)
    ]
    if not cases:
        raise UsageError(
            "--simulate needs --json FILE with learning curves: run the workloads triage, users first"
        )
    results.run.extras[KEY] = [asdict(case) for case in cases]
    results.save()
    write(as_markdown(results.run) + "\n")
    if options.plots is not None:
        from reame_bench.plots import draw_archive

        draw_archive(cases, options.plots, "svg" if options.svg else "png")
    if options.page is not None:
        from reame_bench.report import write_page

        write_page(options.page, results.run)


def _case(demand: Demand, run: Run) -> Case:
    company = Company.measured(run.units, demand.model, demand.contestant)
    known = np.array(demand.seconds[len(demand.seconds) // 2 :])
    patience = PATIENCE * float(known.mean())
    day = capacity(known, company, patience)
    repeated = np.array(demand.again or demand.seconds[-1:])
    share = round(len(known) * REPEATS / (1 - REPEATS)) or 1
    mixture = np.concatenate([known, np.random.default_rng(2).choice(repeated, share)])
    return Case(
        use_case=demand.use_case,
        model=demand.model,
        contestant=demand.contestant,
        cold_s=demand.cold,
        steady_s=demand.steady,
        repeated_s=demand.repeated,
        archive=demand.by_archive(),
        per_day=day.requests,
        per_day_with_repeats=capacity(mixture, company, patience).requests,
        within_s=patience,
        busy=day.busy,
    )


def kept(run: Run) -> list[Case]:
    """What an earlier simulation has put into ``run``."""
    return msgspec.convert(run.extras.get(KEY, []), list[Case])


def as_markdown(run: Run) -> str:
    """The table of days, then that of archives."""
    cases = kept(run)
    days = [
        [
            "use case",
            "model",
            "server",
            "request 1, s",
            "later, s",
            "asked before, s",
            "a day",
            "95 % within, s",
            "a day, 20 % asked before",
            "euro for 1,000",
        ]
    ]
    for case in cases:
        days.append(
            [
                *(case.use_case, case.model, case.contestant),
                *(short(seconds) for seconds in (case.cold_s, case.steady_s, case.repeated_s)),
                f"{case.per_day:,}",
                short(case.within_s),
                f"{case.per_day_with_repeats:,}",
                short(euros_for_thousand(case.per_day)),
            ]
        )
    stages = sorted({stage for case in cases for stage, _ in case.archive})
    archives = [["use case", "model", "server", *(f"request {stage:,}" for stage in stages)]]
    for case in cases:
        known = dict(case.archive)
        archives.append(
            [
                *(case.use_case, case.model, case.contestant),
                *(short(known[stage]) + " s" if stage in known else "" for stage in stages),
            ]
        )
    return "\n".join(
        [
            *table(days),
            "",
            "Mean seconds of the requests from there on, by what the archive has learned:",
            "",
            *table(archives),
        ]
    )


def euros_for_thousand(per_day: int) -> float:
    """At full days, thirty a month."""
    return 1000 * EURO_A_MONTH / (30 * per_day) if per_day else 0.0
