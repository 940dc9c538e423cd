"""A model that is dear but speaks like its draft model: the latter with layers added that change nothing
(``bench.dear_target``), so that one of its tokens takes as long as a dozen of the other's, as with a 7B and
a 0.5B. With drafts against without, and against what its batches allow."""

from __future__ import annotations

from collections.abc import Callable

from bench.dear_target import with_idle_layers
from bench.report import Figure, Result, Target
from bench.rounds import median, ratios, rounds
from bench.speculation.stage import Stage, archive_folder, same_text
from bench.speculation.texts import EXPLAIN

TOKENS, LAYERS = 200, 400
PLAIN, DRAFTS = "without drafts", "with drafts"
_LONGEST = 63


def best_gain(cost: Callable[[int], float], drafting: float, chance: float) -> tuple[float, int]:
    """Tokens/s with the best length of drafts against none, and that length. A batch of k rows takes
    ``cost(k)`` ms, a drafted token ``drafting`` ms; it is right by ``chance`` where all before it are."""
    tokens, best, length = 1.0, 1.0, 0
    for drafted in range(1, 1 + _LONGEST):
        tokens += chance**drafted
        gain = tokens * cost(1) / (cost(1 + drafted) + drafting * drafted)
        if gain > best:
            best, length = gain, drafted
    return best, length


def measure(stage: Stage, result: Result) -> None:
    tokens = stage.size(TOKENS)
    model = stage.conditions.draft_model
    if model is None:
        raise RuntimeError("this measurement needs --draft-model")
    with archive_folder() as folder:
        target = folder / "dear.gguf"
        layers = with_idle_layers(model, target, stage.size(LAYERS))
        tables = {"draftmodel": {"model": str(model)}}
        with stage.session(folder, model=target, plugins=("draftmodel",), tables=tables) as talk:
            contestants = {
                DRAFTS: lambda: talk.ask(EXPLAIN, tokens),
                PLAIN: lambda: talk.plain(EXPLAIN, tokens),
            }
            told = rounds(stage.rounds, contestants, stage.quiet)
            totals = talk.totals["draftmodel"]
            costs = talk.session.worker.engine.cost
    plain, drafts = ([each.rate for each in told[name]] for name in (PLAIN, DRAFTS))
    gains = ratios(drafts, plain)
    chance, drafting = totals.accepted / max(1, totals.tested), totals.milliseconds / max(1, totals.proposed)
    allowed, length = best_gain(lambda rows: costs.estimate(rows) or 0.0, drafting, chance)
    result.figures += [
        Figure.of("tokens/s, with / without drafts", gains, target=Target("≥", 2.2)),
        Figure("first request", gains[0]),
        Figure("what batches allow at this acceptance", allowed),
        Figure("share of that", median(gains) / allowed, ""),
        Figure("accepted", chance, ""),
        Figure.of("with drafts", drafts, "tokens/s"),
        Figure.of("without", plain, "tokens/s"),
    ]
    result.notes.append(f"{model.stem} with {layers} layers in all, drafted by {model.stem}; {tokens} tokens")
    batches = ", ".join(f"{rows}: {costs.estimate(rows) or 0:.0f}" for rows in (1, 4, 8, 16, 32, 64))
    result.notes.append(
        f"ms of a batch by rows: {batches}; of a drafted token, reading included: {drafting:.0f}; "
        f"best are drafts of {length} tokens"
    )
    result.notes.append(f"in all: {totals}")
    same_text(result.notes, "with drafts", told[PLAIN][0], told[DRAFTS])
