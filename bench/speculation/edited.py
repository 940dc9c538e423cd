"""A request like an earlier one: ten words of its prompt are others, and so is a fifth of its answer. With
drafts from the archive against without."""

from __future__ import annotations

from difflib import SequenceMatcher

from bench.report import Figure, Result, Target
from bench.speculation.stage import Stage, archive_folder
from bench.speculation.texts import orders

TOKENS, CHANGED = 230, 10


def measure(stage: Stage, result: Result) -> None:
    tokens = stage.size(TOKENS)
    gains, alike, plain_rates, rates = [], [], [], []
    same = 0
    with archive_folder() as folder, stage.session(folder) as talk:
        first = talk.ask(orders(0), tokens, ends=True)
        for number in range(1, stage.rounds + 1):
            question = orders(number, CHANGED)
            # The one without drafts comes first and is not archived: nothing is known of this answer but what
            # it has in common with the first.
            plain = stage.quiet.run(lambda question=question: talk.plain(question, tokens, ends=True))
            told = stage.quiet.run(lambda question=question: talk.ask(question, tokens, keep=False, ends=True))
            gains.append(told.rate / plain.rate)
            rates.append(told.rate)
            plain_rates.append(plain.rate)
            alike.append(SequenceMatcher(None, first.tokens, plain.tokens, autojunk=False).ratio())
            same += told.tokens == plain.tokens
    result.figures += [
        Figure.of("tokens/s, with / without drafts", gains, target=Target("≥", 2.5)),
        Figure.of("share of the first answer's tokens in the second", alike, ""),
        Figure.of("with drafts", rates, "tokens/s"),
        Figure.of("without", plain_rates, "tokens/s"),
    ]
    result.notes.append(
        f"answers of up to {tokens} tokens; {same} of {stage.rounds} the same with drafts and without"
    )
