"""Stories, drawn at temperature 0.8, where nothing was said before: with all sources switched on against
without drafts. What speculation costs where it cannot help."""

from __future__ import annotations

from bench.report import Figure, Result, Target
from bench.rounds import ratios
from bench.speculation.stage import Stage, archive_folder
from bench.speculation.texts import story

TOKENS = 200


def measure(stage: Stage, result: Result) -> None:
    tokens = stage.size(TOKENS)
    plain, drafts = [], []
    same = 0
    with archive_folder() as folder, stage.session(folder) as talk:
        talk.ask("Tell me a short story about a fox and a crow.", tokens, temperature=0.8, seed=99)
        for number in range(2 * stage.rounds):
            told = {}
            for with_drafts in (True, False) if number % 2 else (False, True):
                told[with_drafts] = stage.quiet.run(
                    lambda number=number, with_drafts=with_drafts: talk.ask(
                        story(number), tokens, drafts=with_drafts, keep=False, temperature=0.8, seed=number
                    )
                )
            plain.append(told[False].rate)
            drafts.append(told[True].rate)
            same += told[True].tokens == told[False].tokens
        sources = {source: (totals.drafted, totals.accepted) for source, totals in talk.totals.items()}
    result.figures += [
        Figure.of("tokens/s, with / without drafts", ratios(drafts, plain), target=Target("≥", 0.98)),
        Figure.of("without", plain, "tokens/s"),
    ]
    result.notes.append(
        f"{2 * stage.rounds} stories of {tokens} tokens, {same} of them the same with drafts and without; "
        f"drafted and accepted: {sources}"
    )
