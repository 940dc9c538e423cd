"""A run of ``reame bench``: from its options to results, tables, pictures and pages."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reame_bench.harness import Plan, measure
from reame_bench.host import describe_host, usable_cpus
from reame_bench.options import typed_command
from reame_bench.report import host_table, workload_sections, write_page
from reame_bench.results import Results
from reame_bench.servers.choice import FORMS, choose
from reame_bench.servers.server import Job
from reame_bench.workloads.catalogue import BY_NAME, WORKLOADS
from reame_core.cli.table import write_table
from reame_core.cli.terminal import note, write
from reame_core.errors import ReameError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reame_bench.options import BenchOptions
    from reame_bench.workloads.workload import Workload

DEFAULT_MODEL = "smollm2-135m"


class Incomplete(ReameError):
    """Some units failed: their lines say why."""


def run(options: BenchOptions) -> None:
    """Do what ``options`` say. Raises UsageError for what the user can mend, Incomplete where units failed."""
    if options.listing:
        _list()
        return
    results = Results(options.json_file, describe_host())
    with _ending_on_sigterm():
        if options.profile:
            from reame_bench.profile.command import profile

            profile(options, results)
        elif options.simulate:
            from reame_bench.simulate.command import simulate

            simulate(options, results)
        else:
            _measure(options, results)


def _measure(options: BenchOptions, results: Results) -> None:
    size = options.measured_size
    plan = Plan(
        workloads=_workloads(options.names or size.workloads),
        contestants=choose(options.servers, options.llama_server, options.draft, options.store),
        jobs=jobs(options),
        size=size,
        command=typed_command(),
        deadline=time.monotonic() + options.limit if options.limit is not None else float("inf"),
    )
    failed = measure(plan, results, progress)
    write(f"{host_table(results.run)}\n\n{workload_sections(results.run, size.name)}\n")
    if options.plots is not None:
        from reame_bench.plots import draw

        for path in draw(results.run, size.name, options.plots, "svg" if options.svg else "png"):
            note(f"drawn: {path}")
    if options.page is not None:
        write_page(options.page, results.run)
    if failed:
        raise Incomplete(f"{failed} measurements failed; the same command tries them again")


def jobs(options: BenchOptions) -> list[Job]:
    """One for each model. Raises UnknownModel."""
    from reame_core.models.catalogue import resolve

    threads = options.threads or usable_cpus()
    found = [resolve(name) for name in options.models or (DEFAULT_MODEL,)]
    return [Job(each.path.resolve(), each.name, threads) for each in found]


def progress(line: str) -> None:
    note(f"{time.strftime('%H:%M:%S')} {line}")


def _workloads(names: tuple[str, ...]) -> list[Workload]:
    for name in names:
        if name not in BY_NAME:
            raise UsageError(f"--only {name!r} is no workload: {', '.join(BY_NAME)}")
    return [BY_NAME[name] for name in dict.fromkeys(names)] or list(WORKLOADS)


def _list() -> None:
    write_table(("WORKLOAD", "COMPARES"), [(each.name, each.question) for each in WORKLOADS])
    write(f"\nServers: {FORMS}\n")


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """SIGTERM unwinds like Ctrl-C, so that servers are ended and folders removed."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
