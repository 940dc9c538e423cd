"""A draft model (``--draft-model``) that shares the processor with a model not much larger: what it costs until
it is found not to pay, over 400 tokens, and whether it is given up within 100."""

from __future__ import annotations

from bench.report import Figure, Result, Target
from bench.rounds import ratios
from bench.speculation.stage import Stage, archive_folder, same_text
from bench.speculation.texts import EXPLAIN

TOKENS, EARLY = 400, 100


def measure(stage: Stage, result: Result) -> None:
    tokens, early = stage.size(TOKENS), stage.size(EARLY)
    model = stage.conditions.draft_model
    if model is None:
        raise RuntimeError("this measurement needs --draft-model")
    tables = {"draftmodel": {"model": str(model)}}
    speeds: dict[str, list[float]] = {"plain": [], "new": []}
    asked: dict[int, int] = {}
    told = {}
    for length in (early, tokens):
        # A new session each time: what it has learned of the draft model is gone.
        with archive_folder() as folder, stage.session(folder, plugins=("draftmodel",), tables=tables) as talk:
            before = talk.totals["draftmodel"].asked if "draftmodel" in talk.totals else 0
            told[length] = stage.quiet.run(lambda talk=talk, length=length: talk.ask(EXPLAIN, length))
            asked[length] = talk.totals["draftmodel"].asked - before if "draftmodel" in talk.totals else 0
            if length == tokens:
                plain = stage.quiet.run(lambda talk=talk: talk.plain(EXPLAIN, tokens))
                again = stage.quiet.run(lambda talk=talk: talk.ask(EXPLAIN, tokens))
                speeds["plain"] += [plain.rate, plain.rate]
                speeds["new"] += [told[length].rate, again.rate]
                totals = talk.totals.get("draftmodel")
    gains = ratios(speeds["new"], speeds["plain"])
    result.figures += [
        Figure("tokens/s, first request / without drafts", gains[0], target=Target("≥", 0.96)),
        Figure("second request / without drafts", gains[1], target=Target("≥", 0.96)),
        Figure("asked for drafts during the first tokens", float(asked[early]), "times"),
        Figure("asked for drafts during the rest", float(asked[tokens] - asked[early]), "times"),
        Figure("without drafts", speeds["plain"][0], "tokens/s"),
    ]
    result.notes.append(f"{tokens} tokens, the first {early} of them apart; {totals}")
    same_text(result.notes, "with drafts", plain, [told[tokens], again])
