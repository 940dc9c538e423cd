"""``python -m plugins.reame_diskkv.bench --model PATH``, from the repository's folder."""

from __future__ import annotations

import json
import tempfile
from importlib import import_module
from pathlib import Path

import click

from bench.case import Case, Options
from bench.host import CpuWatch, describe_host
from bench.quiet import Quiet
from bench.report import Result, table
from reame_core.host.cpu import clamp_threads

NAMES = ("first_token", "blocks", "writer", "sharing")


@click.command()
@click.option(
    "--model",
    "models",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    required=True,
    help="A GGUF file; repeatable.",
)
@click.option("--only", "names", type=click.Choice(NAMES), multiple=True, help="Only this one; repeatable.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option(
    "--attempts",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="How often to repeat a run that other processes disturb.",
)
@click.option("--threads", type=int, default=None, help="Default: what Reame would use.")
@click.option(
    "--buffers",
    type=click.Choice(["off", "auto"]),
    default="off",
    show_default=True,
    help="Weight buffers: plain, or Reame's choice as with the default settings (which takes a while).",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write all figures here.")
@click.option("--quick", is_flag=True, help="An eighth of everything, one round: only shows that it runs.")
def main(
    models: tuple[Path, ...],
    names: tuple[str, ...],
    rounds: int,
    attempts: int,
    threads: int | None,
    buffers: str,
    json_file: Path | None,
    quick: bool,
) -> None:
    """The disk cache. On an idle machine."""
    host = describe_host()
    click.echo("\n".join(table([("host", ""), *host.items()])) + "\n")
    options = Options(clamp_threads(threads).threads, rounds, attempts, quick, buffers)
    results = []
    for model in models:
        case = Case(model, options)
        for name in names or NAMES:
            module = import_module(f"plugins.reame_diskkv.bench.{name}")
            result = Result(name, case.name, " ".join((module.__doc__ or "").split()))
            case.quiet = Quiet(attempts)
            watch = CpuWatch()
            with tempfile.TemporaryDirectory(prefix="reame-diskkv-bench-") as folder:
                module.measure(case, result, Path(folder))
            result.seconds, result.others_cpu = watch.seconds, watch.others_share()
            result.disturbed = case.quiet.worst
            result.notes.append(f"weight buffers: {case.buffers.label}")
            results.append(result)
            click.echo(result.as_text())
        case.close()
    if json_file is not None:
        report = {"host": host, "results": [result.as_json() for result in results]}
        json_file.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(prog_name="python -m plugins.reame_diskkv.bench")
