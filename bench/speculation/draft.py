"""A draft model (``--draft-model``) that shares the processor with a model not much larger: what it costs over
400 tokens until it is found not to pay, and how often it is asked before and after the 100th of them."""

from __future__ import annotations

from bench.report import Figure, Result, Target
from bench.speculation.stage import Stage, Told, archive_folder, same_text
from bench.speculation.texts import EXPLAIN

TOKENS, EARLY = 400, 100


def measure(stage: Stage, result: Result) -> None:
    tokens, early = stage.size(TOKENS), stage.size(EARLY)
    model = stage.conditions.draft_model
    if model is None:
        raise RuntimeError("this measurement needs --draft-model")
    tables = {"draftmodel": {"model": str(model)}}
    asked: dict[int, int] = {}
    with archive_folder() as folder, stage.session(folder, plugins=("draftmodel",), tables=tables) as talk:

        def times_asked() -> int:
            totals = talk.totals.get("draftmodel")
            return totals.asked if totals else 0

        def watch(count: int) -> None:
            if count >= early:
                asked.setdefault(early, times_asked())

        def drafted() -> Told:
            return talk.together([talk.request(EXPLAIN, tokens)], watch)[0]

        before = times_asked()
        first = stage.quiet.run(drafted)
        late = times_asked() - asked[early]
        plain = stage.quiet.run(lambda: talk.plain(EXPLAIN, tokens))
        again = stage.quiet.run(drafted) if stage.rounds > 1 else None
        totals = talk.totals.get("draftmodel")
    result.figures += [
        Figure("tokens/s, first request / without drafts", first.rate / plain.rate, target=Target("≥", 0.96)),
        Figure("asked for drafts during the first tokens", float(asked[early] - before), "times"),
        Figure("asked for drafts during the rest", float(late), "times"),
        Figure("without drafts", plain.rate, "tokens/s"),
    ]
    if again is not None:
        result.figures.append(Figure("second request / without drafts", again.rate / plain.rate))
    result.notes.append(f"{tokens} tokens, the first {early} of them apart; in all: {totals}")
    same_text(result.notes, "with drafts", plain, [first])
