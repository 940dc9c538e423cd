"""``reame bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUT = click.Path(path_type=Path)


@click.command(short_help="Measure this and other servers on the same workloads.")
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@click.option("--quick", "size", flag_value="quick", default=True, help="A few minutes (default).")
@click.option("--full", "size", flag_value="full", help="Everything, in three rounds: hours.")
@click.option("--smoke", "size", flag_value="smoke", help="Only shows that everything runs.")
@click.option(
    "--only", "names", multiple=True, metavar="WORKLOAD", help="Only this one; repeatable. See --list."
)
@click.option(
    "--server", "servers", multiple=True, metavar="SERVER", help="A contestant; repeatable. See --list."
)
@click.option("--llama-server", type=_FILE, help="A llama-server that is not on the PATH.")
@click.option("--draft", type=_FILE, help="A draft model for the workload draft-model.")
@click.option("--store", metavar="URL", help="A Valkey or Redis, too, for the workload kept.")
@click.option("--requests", type=click.IntRange(1), help="Requests of a learning curve.")
@click.option("--rounds", type=click.IntRange(1), help="How often everything is measured.")
@click.option("--threads", type=click.IntRange(1), help="Of every server (default: what this process may use).")
@click.option(
    "--json", "json_file", type=_OUT, metavar="FILE", help="Keep results here; a run goes on from them."
)
@click.option("--plots", type=_OUT, metavar="FOLDER", help="Draw the results.")
@click.option("--svg", is_flag=True, help="Draw SVG instead of PNG.")
@click.option("--page", type=_FILE, help="Write the results between the markers of this page.")
@click.option("--limit", type=click.FloatRange(min=0), metavar="SECONDS", help="Begin nothing after so long.")
@click.option("--profile", is_flag=True, help="Instead: where the time of a token goes.")
@click.option("--simulate", is_flag=True, help="Instead: what a machine can do in a day, by measured costs.")
@click.option("--list", "listing", is_flag=True, help="Show workloads and contestants.")
def bench(**values: Any) -> None:
    """Measure Reame and other servers on the same workloads.

    MODEL is a name in the catalogue or a GGUF file (default: smollm2-135m). Every contestant gets the same
    model, threads and requests, and is started afresh for each workload. Needs an idle machine: other work is
    noticed and reported, but not waited for.
    """
    from reame_bench.options import BenchOptions
    from reame_bench.session import run

    run(BenchOptions(**values))
