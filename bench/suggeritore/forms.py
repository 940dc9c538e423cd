"""Questions whose answers have a form: with drafts from it against without."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from bench.report import Figure, Result, Target
from bench.rounds import median
from bench.speculation.stage import Stage, Talk, Told, archive_folder
from bench.spy import DecodeSpy
from reame_core.llama.backend import LlamaBackend

PLUGIN = "suggeritore"


@dataclass(frozen=True, slots=True)
class Run:
    """One answer, and the batches behind that of its prompt."""

    told: Told
    rows: Sequence[int]
    seconds: Sequence[float]

    @property
    def tokens(self) -> int:
        """That came with those batches."""
        return self.told.generated - self.told.first


def compare(
    stage: Stage, result: Result, questions: Sequence[str], tokens: int, target: Target, share: Target | None
) -> list[Run]:
    """Each question once with and once without drafts; those with. ``share`` is of what the cost of batches
    allows."""
    runs: dict[bool, list[Run]] = {True: [], False: []}
    with archive_folder() as folder, stage.session(folder, plugins=(PLUGIN,)) as talk:
        backend = cast(LlamaBackend, talk.session.worker.engine.backend)
        with DecodeSpy(backend) as spy:
            for number, question in enumerate(questions[: stage.rounds]):
                for drafts in (True, False) if number % 2 else (False, True):
                    runs[drafts].append(
                        stage.quiet.run(
                            lambda question=question, drafts=drafts: _answer(
                                talk, spy, question, stage.size(tokens), drafts=drafts
                            )
                        )
                    )
    plain, drafted = runs[False], runs[True]
    costs = _costs([*plain, *drafted])
    gains = [d.told.rate / p.told.rate for d, p in zip(drafted, plain, strict=True)]
    allowed = [_allowed(each, costs) for each in drafted]
    shares = [gain / most for gain, most in zip(gains, allowed, strict=True)]
    result.figures += [
        Figure.of("tokens/s, with / without drafts", gains, target=target),
        Figure.of("what the cost of batches allows at this acceptance", allowed),
        Figure.of("share of that", shares, "", target=share),
        Figure.of("tokens a batch", [each.tokens / max(1, len(each.rows)) for each in drafted], ""),
        Figure.of("without drafts", [each.told.rate for each in plain], "tokens/s"),
    ]
    _note(result, plain, drafted, costs)
    return drafted


def _answer(talk: Talk, spy: DecodeSpy, question: str, tokens: int, *, drafts: bool) -> Run:
    before = len(spy.rows)
    told = talk.ask(question, tokens, drafts=drafts, ends=True)
    return Run(told, spy.rows[before + 1 :], spy.seconds[before + 1 :])


def _costs(runs: Sequence[Run]) -> dict[int, float]:
    """Median seconds of a batch by its rows."""
    seconds: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        for rows, spent in zip(run.rows, run.seconds, strict=True):
            seconds[rows].append(spent)
    return {rows: median(spent) for rows, spent in sorted(seconds.items())}


def _allowed(run: Run, costs: Mapping[int, float]) -> float:
    """The gain if nothing but the batches took time."""
    return run.tokens * costs[1] / sum(costs[rows] for rows in run.rows)


def _note(result: Result, plain: Sequence[Run], drafted: Sequence[Run], costs: Mapping[int, float]) -> None:
    same = sum(a.told.tokens == b.told.tokens for a, b in zip(plain, drafted, strict=True))
    tokens = ", ".join(str(len(each.told.tokens)) for each in plain)
    drafts = [each.told.drafts.get(PLUGIN, (0, 0)) for each in drafted]
    result.notes += [
        f"answers of {tokens} tokens; {same} of {len(plain)} the same with drafts and without",
        f"(drafted, accepted): {drafts}",
        "milliseconds by rows: " + ", ".join(f"{rows}: {1000 * cost:.0f}" for rows, cost in costs.items()),
    ]
