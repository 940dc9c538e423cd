"""The very same request again, greedy, 200 tokens: with drafts from the archive against without, in the process
that answered first and in one that has been started since; and whether it is the same text each time. Whole
requests, of which the prompt is in memory."""

from __future__ import annotations

from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds
from bench.speculation.stage import Stage, Told, archive_folder, same_text
from bench.speculation.texts import EXPLAIN

TOKENS = 200
WANTED = {"large": 6.0, "medium": 4.5, "small": 2.2}
PLAIN, AGAIN = "without drafts", "with drafts"


def measure(stage: Stage, result: Result) -> None:
    tokens = stage.size(TOKENS)
    target = Target("≥", WANTED[stage.class_])
    with archive_folder() as folder:
        first: Told | None = None
        for when in ("in the same process", "after a restart"):
            with stage.session(folder) as talk:
                if first is None:
                    first = talk.ask(EXPLAIN, tokens)
                contestants = {
                    PLAIN: lambda talk=talk: talk.plain(EXPLAIN, tokens),
                    AGAIN: lambda talk=talk: talk.ask(EXPLAIN, tokens),
                }
                told = rounds(stage.rounds, contestants, stage.quiet)
            _report(when, told, target, result)
            same_text(result.notes, f"with drafts, {when}", first, told[AGAIN])
            same_text(result.notes, f"without drafts, {when}", first, told[PLAIN])


def _report(when: str, told: dict[str, list[Told]], target: Target, result: Result) -> None:
    plain, again = ([each.whole_rate for each in told[name]] for name in (PLAIN, AGAIN))
    result.figures += [
        Figure.of(f"{when}: tokens/s, with / without drafts", ratios(again, plain), target=target),
        Figure(f"{when}: the first time", again[0] / plain[0]),
        Figure.of(f"{when}: with drafts", again, "tokens/s"),
        Figure.of(f"{when}: without", plain, "tokens/s"),
    ]
