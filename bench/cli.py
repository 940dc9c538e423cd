"""The command line: ``python -m bench core --model PATH``."""

from __future__ import annotations

import click

from bench.arca.command import arca
from bench.conclave.command import conclave
from bench.core.command import core
from bench.diskkv.command import diskkv
from bench.fleet.command import fleet
from bench.memo import memo
from bench.publish import publish
from bench.similar.command import similar
from bench.speculation.command import speculation
from bench.structured.command import structured
from bench.suggeritore.command import suggeritore


@click.group()
def main() -> None:
    """Benchmarks: ratios within one run. Run them from the repository's folder, on an idle machine."""


for command in (
    core,
    speculation,
    suggeritore,
    structured,
    diskkv,
    arca,
    conclave,
    fleet,
    memo,
    similar,
    publish,
):
    main.add_command(command)
