"""Answers without structure, beside a plugin that offers it: with the plugin against without any."""

from __future__ import annotations

from bench.report import Figure, Result, Target
from bench.speculation.stage import Stage, Told, archive_folder
from bench.structured.invoices import PLUGIN

QUESTION = "Explain in two paragraphs why the sky is blue."
TOKENS = 96


def measure(stage: Stage, result: Result) -> None:
    told: dict[bool, list[Told]] = {True: [], False: []}
    with archive_folder() as folder:
        for round_ in range(stage.rounds):
            for used in (True, False) if round_ % 2 else (False, True):
                plugins = (PLUGIN,) if used else ()
                tables = {PLUGIN: {"proposals": False}} if used else None
                with stage.session(folder, plugins=plugins, tables=tables) as talk:
                    told[used].append(stage.quiet.run(lambda talk=talk: talk.ask(QUESTION, stage.size(TOKENS))))
    gains = [a.rate / b.rate for a, b in zip(told[True], told[False], strict=True)]
    result.figures.append(Figure.of("tokens/s, with / without the plugin", gains, target=Target("≥", 0.99)))
