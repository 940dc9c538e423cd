"""The options that commands of measurements have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from bench.conditions import Conditions
from bench.subject import Measured
from bench.suite import progress, run

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be measured of which models, and how."""

    models: Sequence[Path]
    only: Sequence[str]
    json_file: Path | None
    conditions: Conditions

    def under(self, **conditions: Any) -> Asked:
        """The same under other conditions."""
        return replace(self, conditions=replace(self.conditions, **conditions))

    def run(self, package: str, names: Sequence[str], subject: Callable[[Path, Conditions], Measured]) -> None:
        """Measure by modules of ``package``, those called ``names`` where nobody asked for others."""
        subjects = [subject(model, self.conditions) for model in self.models]
        run(package, self.only or names, subjects, self.json_file)


def measuring(
    names: Sequence[str], *, rounds: int, attempts: int, buffers: str = "off", most_rounds: int | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options, with these defaults, and its argument ``asked`` made of them. ``names`` are
    its measurements."""
    options = (
        click.option(
            "--model", "models", type=FILE, multiple=True, required=True, help="A GGUF file; repeatable."
        ),
        click.option("--only", type=click.Choice(names), multiple=True, help="Only this one; repeatable."),
        click.option(
            "--json", "json_file", type=click.Path(path_type=Path), help="Also write all figures here."
        ),
        click.option(
            "--rounds",
            type=click.IntRange(1, most_rounds),
            default=rounds,
            show_default=True,
            help="How often everything is measured.",
        ),
        click.option(
            "--attempts",
            type=click.IntRange(1),
            default=attempts,
            show_default=True,
            help="How often to repeat a run that other processes disturb.",
        ),
        click.option("--threads", type=click.IntRange(1), help="Default: what Reame would use."),
        click.option(
            "--buffers",
            type=click.Choice(["off", "auto"]),
            default=buffers,
            show_default=True,
            help="Weight buffers: plain, or Reame's choice (which takes a while the first time).",
        ),
        click.option(
            "--quick", is_flag=True, help="An eighth of everything, one round: only shows that it runs."
        ),
    )

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def measure(
            models: Sequence[Path],
            only: Sequence[str],
            json_file: Path | None,
            rounds: int,
            attempts: int,
            quick: bool,
            threads: int | None,
            buffers: str,
            **others: Any,
        ) -> None:
            conditions = Conditions(
                rounds=1 if quick else rounds,
                attempts=1 if quick else attempts,
                threads=threads,
                buffers=buffers,
                quick=quick,
                progress=progress,
            )
            command(Asked(models, only, json_file, conditions), **others)

        decorated: Callable[..., None] = measure
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate
