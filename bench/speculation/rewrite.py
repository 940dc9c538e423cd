"""A given text written again with small changes, by prompt lookup alone: with drafts against without."""

from __future__ import annotations

from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds
from bench.speculation.stage import Stage, archive_folder, same_text
from bench.speculation.texts import REWRITE

TOKENS = 150
PLAIN, DRAFTS = "without drafts", "with drafts"


def measure(stage: Stage, result: Result) -> None:
    tokens = stage.size(TOKENS)
    with archive_folder() as folder, stage.session(folder, plugins=("prompt-lookup",)) as talk:
        contestants = {
            PLAIN: lambda: talk.plain(REWRITE, tokens, ends=True),
            DRAFTS: lambda: talk.ask(REWRITE, tokens, ends=True),
        }
        told = rounds(stage.rounds, contestants, stage.quiet)
    plain, drafts = ([each.rate for each in told[name]] for name in (PLAIN, DRAFTS))
    result.figures += [
        Figure.of("tokens/s, with / without drafts", ratios(drafts, plain), target=Target("≥", 1.8)),
        Figure.of("first time", [drafts[0] / plain[0]]),
        Figure.of("with drafts", drafts, "tokens/s"),
        Figure.of("without", plain, "tokens/s"),
    ]
    result.notes.append(f"{len(told[PLAIN][0].tokens)} tokens, drafts {dict(told[DRAFTS][-1].drafts)}")
    same_text(result.notes, "with drafts", told[PLAIN][0], told[DRAFTS])
