"""``python -m bench fleet``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from reame_bench.report import write_part
from reame_bench.results import read

from bench.fleet.costs import Costs, measured
from bench.fleet.simulation import LOAD, REPEATS, Fleet, Outcome
from bench.report import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
SIZES = (2, 4, 8, 16, 32, 64)
TICKETS = 20_000
MARK = "fleet"
_LINKS = {"1 Gbit/s": 1e9 / 8, "10 Gbit/s": 1e10 / 8}
_COLOURS = ("#1b6ca8", "#d1495b", "#66a182")

Found = dict[int, dict[str, Outcome]]


@click.command()
@click.option("--curves", type=FILE, required=True, help="Of `reame bench --only triage --json FILE`.")
@click.option(
    "--traffic", type=FILE, required=True, help="Of `python -m bench arca --only traffic --json FILE`."
)
@click.option("--page", type=FILE, help=f"Write the tables between the marks `{MARK}` of this page.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw them into this PNG.")
def fleet(curves: Path, traffic: Path, page: Path | None, plot: Path | None) -> None:
    """2 to 64 servers on one triage workload, each for itself and with one store, by measured times."""
    costs = measured(curves, traffic)
    found = {count: _outcomes(costs, count) for count in SIZES}
    text = as_markdown(costs, found)
    click.echo(text)
    if page is not None:
        write_part(page, MARK, read(curves).host, text)
    if plot is not None:
        draw(costs, found, plot)


def _outcomes(costs: Costs, count: int) -> dict[str, Outcome]:
    alone = Fleet(costs, count, shared=False, bandwidth=_LINKS["10 Gbit/s"]).run(TICKETS)
    shared = {
        name: Fleet(costs, count, shared=True, bandwidth=rate).run(TICKETS) for name, rate in _LINKS.items()
    }
    return {"alone": alone, **shared}


def as_markdown(costs: Costs, found: Found) -> str:
    """What went in, then what came out."""
    inputs = [
        ("measured on one server", costs.model),
        ("request 1 from nothing, s", f"{costs.cold_s:.2f}"),
        ("request 1 of a server that joins, s", f"{costs.joining_s:.2f}"),
        ("new request, empty archive, s", f"{costs.new(1):.2f}"),
        (f"new request, {len(costs.new_s)} answers archived and more, s", f"{costs.new(len(costs.new_s)):.2f}"),
        ("request that was asked before, s", f"{costs.repeated_s:.2f}"),
        ("published by a request, MB", f"{costs.later_bytes / 1e6:.2f}"),
        ("fetched by a server that joins, MB", f"{costs.fetched_bytes / 1e6:.1f}"),
        ("an answer in the stream, for each reader, bytes", f"{costs.generation_bytes:,.0f}"),
    ]
    head = (
        "servers",
        "work a request, each for itself, s",
        "with one store, s",
        "less work",
        "95 % within, each for itself, s",
        "with one store, s",
        "store, MB/s",
        "busiest 10 s, MB/s",
        "blocks dropped at 1 Gbit/s",
    )
    rows = [head, *(_row(count, outcomes) for count, outcomes in found.items())]
    notes = (
        f"{TICKETS:,} tickets at random times, to random servers, {REPEATS:.0%} of them asked before, at "
        f"{LOAD:.0%} of what the servers can do."
    )
    most = max(found)
    a_server = found[most]["10 Gbit/s"].megabytes_s / most
    full = [f"{rate / 1e6 / a_server:,.0f} servers fill {name}" for name, rate in _LINKS.items()]
    ending = f"Each server adds {a_server:.2f} MB/s: {' and '.join(full)}."
    return "\n".join([*table(inputs), "", *table(rows), "", notes, ending])


def _row(count: int, outcomes: dict[str, Outcome]) -> tuple[str, ...]:
    alone, slow, fast = outcomes["alone"], outcomes["1 Gbit/s"], outcomes["10 Gbit/s"]
    return (
        str(count),
        f"{alone.work_s:.3f}",
        f"{fast.work_s:.3f}",
        f"{1 - fast.work_s / alone.work_s:.1%}",
        f"{alone.wait_s:.2f}",
        f"{fast.wait_s:.2f}",
        f"{fast.megabytes_s:.1f}",
        f"{fast.busiest_mb_s:.1f}",
        f"{slow.dropped:.1%}",
    )


def draw(costs: Costs, found: Found, path: Path) -> None:
    """Work and traffic by the number of servers."""
    # Not pyplot: it wants a display's backend and keeps every figure alive.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    work, traffic = figure.subplots(1, 2)
    counts = list(found)
    for (label, key), colour in zip(
        (("each for itself", "alone"), ("one store", "10 Gbit/s")), _COLOURS, strict=False
    ):
        work.plot(counts, [found[count][key].work_s for count in counts], "o-", color=colour, label=label)
    work.set_ylabel("seconds of a server for a request")
    traffic.plot(
        counts,
        [found[count]["10 Gbit/s"].megabytes_s for count in counts],
        "o-",
        color=_COLOURS[0],
        label="mean",
    )
    traffic.plot(
        counts,
        [found[count]["10 Gbit/s"].busiest_mb_s for count in counts],
        "s--",
        color=_COLOURS[2],
        label="busiest ten seconds",
    )
    traffic.axhline(_LINKS["1 Gbit/s"] / 1e6, color=_COLOURS[1], linewidth=1, label="1 Gbit/s")
    traffic.set_ylabel("MB/s to and from the store")
    for axis in (work, traffic):
        _finish(axis, counts)
    figure.suptitle(f"Triage on several servers, {costs.model}, simulated from measured times")
    figure.savefig(path, dpi=110)


def _finish(axis: Axes, counts: list[int]) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(counts, [str(count) for count in counts])
    axis.minorticks_off()
    axis.set_ylim(0, 1.05 * axis.get_ylim()[1])
    axis.set_xlabel("servers")
    axis.grid(alpha=0.25)
    axis.legend(frameon=False, fontsize=9)
