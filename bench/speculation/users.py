"""Four users at once whose requests were answered before: with drafts against without."""

from __future__ import annotations

from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds
from bench.speculation.stage import Stage, Told, archive_folder, without_drafts
from bench.speculation.texts import USERS

TOKENS = 100
PLAIN, AGAIN = "without drafts", "with drafts"


def measure(stage: Stage, result: Result) -> None:
    tokens = stage.size(TOKENS)
    with archive_folder() as folder, stage.session(folder, parallel=len(USERS)) as talk:
        requests = [talk.request(question, tokens) for question in USERS]
        first = talk.together(requests)
        contestants = {
            PLAIN: lambda: talk.together([without_drafts(each) for each in requests]),
            AGAIN: lambda: talk.together(requests),
        }
        told = rounds(stage.rounds, contestants, stage.quiet)
    speed = {name: [_rate(all_users) for all_users in told[name]] for name in contestants}
    same = sum(a.tokens == b.tokens for again in told[AGAIN] for a, b in zip(first, again, strict=True))
    result.figures += [
        Figure.of(
            "tokens/s, with / without drafts", ratios(speed[AGAIN], speed[PLAIN]), target=Target("≥", 2.5)
        ),
        Figure.of("with drafts", speed[AGAIN], "tokens/s"),
        Figure.of("without", speed[PLAIN], "tokens/s"),
    ]
    result.notes.append(
        f"{len(USERS)} answers of {tokens} tokens; {same} of {len(USERS) * stage.rounds} as the first time"
    )


def _rate(told: list[Told]) -> float:
    """Tokens a second of all users together, prompts included."""
    return sum(len(each.tokens) for each in told) / max(each.whole for each in told)
