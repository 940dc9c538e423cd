"""``python -m bench core``."""

from __future__ import annotations

from pathlib import Path

import click

from bench.case import Case
from bench.core import NAMES
from bench.measuring import FILE, Asked, measuring


@click.command()
@measuring(NAMES, rounds=5, attempts=3)
@click.option("--llama-server", type=FILE, help="A llama-server to compare `buffers` with.")
def core(asked: Asked, llama_server: Path | None) -> None:
    """The engine on llama.cpp: its overhead, users at once, stalls, neighbours, buffers, memory. `buffers`
    itself measures all of them, whatever --buffers says."""
    asked.under(llama_server=llama_server).run("bench.core", NAMES, Case)
