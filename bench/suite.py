"""Running measurements and reporting what they find."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

import click
from reame_bench.options import without_folders

from bench.host import CpuWatch, describe_host
from bench.quiet import Quiet
from bench.report import Result, table
from bench.subject import Measured
from bench.worker import WorkerDied
from reame_core.errors import ReameError


def measure(package: str, name: str, subject: Measured) -> Result:
    """Run the module ``name`` of ``package``; its docstring says what it compares."""
    module = import_module(f"{package}.{name}")
    function: Callable[[Measured, Result], None] = module.measure
    result = Result(name, subject.name, " ".join((module.__doc__ or "").split()))
    subject.quiet = Quiet(subject.conditions.attempts)
    watch = CpuWatch()
    function(subject, result)
    result.seconds, result.others_cpu = watch.seconds, watch.others_share()
    result.disturbed = subject.quiet.worst
    return result


def run(package: str, names: Sequence[str], subjects: Sequence[Measured], json_file: Path | None) -> None:
    """Measure everything of every subject and print it; ends the program where something has failed."""
    host, command = describe_host(), typed_command()
    click.echo("\n".join(table([("host", ""), *host.items(), ("command", f"`{command}`")])) + "\n")
    results: list[Result] = []
    failed = False
    for subject in subjects:
        for name in names:
            progress(f"{subject.name}: {name}")
            try:
                results.append(measure(package, name, subject))
                click.echo(results[-1].as_text())
            except (ReameError, WorkerDied, RuntimeError) as error:
                failed = True
                click.echo(f"#### {name}: {subject.name}\n\nfailed: {error}\n")
        subject.close()
    if json_file is not None:
        write_report(json_file, package.removeprefix("bench."), host, command, results)
    if failed:
        raise SystemExit(1)


def write_report(
    file: Path, suite: str, host: Mapping[str, str], command: str, results: Sequence[Result]
) -> None:
    """For programs, and for ``python -m bench publish``."""
    report = {
        "suite": suite,
        "host": dict(host),
        "command": command,
        "results": [result.as_json() for result in results],
    }
    file.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def typed_command() -> str:
    """As it was typed, but without the folders of this machine."""
    return " ".join(["uv run python -m bench", *map(without_folders, sys.argv[1:])])


def progress(line: str) -> None:
    """Tell what is under way, with the time."""
    click.echo(f"{time.strftime('%H:%M:%S')} {line}", err=True)
