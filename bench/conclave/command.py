"""``python -m bench conclave``: generate, measure, report."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUT = click.Path(dir_okay=False, path_type=Path)


@click.group()
def conclave() -> None:
    """Votes: accuracy on a quiz, tokens, wall time."""


@conclave.command()
@click.option("--model", type=FILE, required=True, help="A GGUF file.")
@click.option("--items", type=click.IntRange(1), default=70, show_default=True)
@click.option("--seed", type=int, default=7, show_default=True)
@click.option("--seconds", type=float, default=1e9, help="Stop before that; run again to go on.")
@click.argument("file", type=OUT)
def quiz(model: Path, items: int, seed: int, seconds: float, file: Path) -> None:
    """Answer the quiz nine times and keep what was said in FILE. The speed of the machine does not matter."""
    from bench.conclave.candidates import generate

    generate(model, items, seed, file, seconds, _progress)


@conclave.command()
@click.option("--model", type=FILE, required=True, help="A GGUF file.")
@click.option("--items", type=click.IntRange(1), default=6, show_default=True, help="Questions of each sort.")
@click.option("--seed", type=int, default=7, show_default=True)
@click.option("--json", "json_file", type=OUT, help="Also write all figures here.")
def speed(model: Path, items: int, seed: int, json_file: Path | None) -> None:
    """Wall time of votes of five against one answer, on an idle machine."""
    from bench.conclave.speed import measure_speed
    from bench.host import describe_host
    from bench.report import table

    host = describe_host()
    click.echo("\n".join(table([("host", ""), *host.items()])) + "\n")
    result = measure_speed(model, items, seed, _progress)
    click.echo(result.as_text())
    if json_file is not None:
        json_file.write_text(json.dumps({"host": host, "results": [result.as_json()]}, indent=1) + "\n")


@conclave.command()
@click.argument("file", type=FILE)
@click.option("--model", default="the model", help="Its name, for the picture.")
@click.option("--plot", "picture", type=OUT, help="Draw accuracy over tokens into this file, PNG or SVG.")
def report(file: Path, model: str, picture: Path | None) -> None:
    """Tables, and a picture, of what `quiz` has kept in FILE."""
    from bench.conclave.candidates import load
    from bench.conclave.report import accuracy_table, agreement_table, kinds_table

    answered = load(file)
    for lines in (accuracy_table(answered), kinds_table(answered), agreement_table(answered)):
        click.echo("\n".join(lines) + "\n")
    if picture is not None:
        from bench.conclave.plot import draw

        draw(answered, picture, model)


def _progress(line: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {line}", err=True)
