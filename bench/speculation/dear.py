"""A model that is dear but speaks like its draft model: the latter with layers added that change nothing
(``bench.dear_target``). With drafts against without."""

from __future__ import annotations

from bench.dear_target import with_idle_layers
from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds
from bench.speculation.stage import Stage, archive_folder, same_text
from bench.speculation.texts import EXPLAIN

TOKENS, LAYERS = 200, 120
PLAIN, DRAFTS = "without drafts", "with drafts"


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
    drafted, accepted = told[DRAFTS][-1].drafts.get("draftmodel", (0, 0))
    plain, drafts = ([each.rate for each in told[name]] for name in (PLAIN, DRAFTS))
    result.figures += [
        Figure.of("tokens/s, with / without drafts", ratios(drafts, plain), target=Target("≥", 2.2)),
        Figure.of("first request", [drafts[0] / plain[0]]),
        Figure("accepted", accepted / max(1, drafted), ""),
        Figure.of("with drafts", drafts, "tokens/s"),
        Figure.of("without", plain, "tokens/s"),
    ]
    result.notes.append(f"{model.stem} with {layers} layers in all, drafted by {model.stem}; {tokens} tokens")
    same_text(result.notes, "with drafts", told[PLAIN][0], told[DRAFTS])
