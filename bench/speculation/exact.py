"""The very same request again in exact mode, where batches keep to the shapes whose rows are bit-identical."""

from __future__ import annotations

from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds
from bench.speculation.stage import Stage, archive_folder, same_text
from bench.speculation.texts import EXPLAIN

TOKENS = 200
PLAIN, AGAIN = "without drafts", "with drafts"


def measure(stage: Stage, result: Result) -> None:
    tokens = stage.size(TOKENS)
    with archive_folder() as folder, stage.session(folder, exact=True) as talk:
        first = talk.ask(EXPLAIN, tokens)
        contestants = {
            PLAIN: lambda: talk.plain(EXPLAIN, tokens),
            AGAIN: lambda: talk.ask(EXPLAIN, tokens),
        }
        told = rounds(stage.rounds, contestants, stage.quiet)
        shapes = talk.session.description["exact"]
    plain, again = ([each.whole_rate for each in told[name]] for name in (PLAIN, AGAIN))
    result.figures += [
        Figure.of("tokens/s, with / without drafts", ratios(again, plain), target=Target("≥", 2.2)),
        Figure.of("with drafts", again, "tokens/s"),
        Figure.of("without", plain, "tokens/s"),
    ]
    result.notes.append(f"{tokens} tokens; {shapes}")
    same_text(result.notes, "with and without drafts", first, [*told[PLAIN], *told[AGAIN]])
