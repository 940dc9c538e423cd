"""Forty tickets, each to be filed by the same form, one after another and none of them seen before: the
decoding speed of the second half against that of the first request."""

from __future__ import annotations

from bench.report import Figure, Result, Target
from bench.rounds import median
from bench.speculation.stage import Stage, archive_folder
from bench.speculation.texts import ticket

COUNT, TOKENS = 40, 120


def measure(stage: Stage, result: Result) -> None:
    count = stage.size(COUNT)
    with archive_folder() as folder, stage.session(folder) as talk:
        told = [talk.ask(ticket(number), TOKENS, ends=True) for number in range(count)]
        sources = {source: (totals.drafted, totals.accepted) for source, totals in talk.totals.items()}
    later = told[count // 2 :]
    speed = sum(len(each.tokens) - 1 for each in later) / sum(each.decode for each in later)
    result.figures += [
        Figure("tokens/s, second half / first request", speed / told[0].rate, target=Target("≥", 1.5)),
        Figure.of(
            "median request of the second half / first request", [each.rate / told[0].rate for each in later]
        ),
        Figure("second half", speed, "tokens/s"),
        Figure("first request", told[0].rate, "tokens/s"),
    ]
    length = median([float(len(each.tokens)) for each in told])
    result.notes.append(f"{count} tickets, {length:.0f} tokens an answer; drafted and accepted: {sources}")
