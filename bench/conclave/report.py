"""Tables of a quiz: accuracy, tokens and agreement of each way to answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reame_conclave.stopping import Beta, Majority, Never, StopRule, Window

from bench.conclave.candidates import MOST, TEMPERATURE, Answered
from bench.conclave.intervals import paired, wilson
from bench.conclave.quiz import SHARES
from bench.conclave.replay import count, is_right
from bench.report import table

RULES: tuple[tuple[str, StopRule], ...] = (
    ("full vote", Never()),
    ("majority", Majority()),
    ("beta 0.95", Beta(0.95)),
    ("window 3", Window(3)),
)
SIZES = (3, 5, 9)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to answer the quiz. ``right`` is a share for each item, 0 or 1 except for means of samples."""

    name: str
    right: list[float]
    tokens: float
    """Generated for a question, in the mean."""
    full: float
    """The same without stopping early."""

    @property
    def accuracy(self) -> float:
        return sum(self.right) / len(self.right)

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.accuracy, len(self.right))


def ways(answered: Sequence[Answered]) -> list[Way]:
    """Greedy, one sample, and votes of each size by each rule."""
    found = [
        _single("greedy", answered, range(1)),
        _single(f"one sample, T = {TEMPERATURE}", answered, range(1, MOST)),
    ]
    for size in SIZES:
        for name, rule in RULES:
            votes = [count(each, size, rule) for each in answered]
            found.append(
                Way(
                    f"N = {size}, {name}",
                    [float(vote.right) for vote in votes],
                    sum(vote.generated for vote in votes) / len(votes),
                    sum(vote.full for vote in votes) / len(votes),
                )
            )
    return found


def _single(name: str, answered: Sequence[Answered], choices: range) -> Way:
    right = [
        sum(is_right(each.item, each.candidates[choice].text) for choice in choices) / len(choices)
        for each in answered
    ]
    spent = [sum(each.candidates[choice].tokens for choice in choices) / len(choices) for each in answered]
    mean = sum(spent) / len(spent)
    return Way(name, right, mean, mean)


def accuracy_table(answered: Sequence[Answered]) -> list[str]:
    """Each way against the greedy answers to the same questions."""
    found = ways(answered)
    greedy = found[0]
    rows: list[Sequence[str]] = [
        ("answered by", "right", "95 % interval", "more than greedy", "tokens a question", "saved by stopping")
    ]
    for way in found:
        low, high = way.interval
        gain = way.accuracy - greedy.accuracy
        least, most = paired(way.right, greedy.right)
        rows.append(
            (
                way.name,
                f"{way.accuracy:.0%}",
                f"{low:.0%} to {high:.0%}",
                "" if way is greedy else f"{100 * gain:+.0f} points ({100 * least:+.0f} to {100 * most:+.0f})",
                f"{way.tokens:.0f}",
                f"{1 - way.tokens / way.full:.0%}" if way.tokens < way.full else "",
            )
        )
    return table(rows)


def kinds_table(answered: Sequence[Answered]) -> list[str]:
    """The same by kind of question, for full votes."""
    rows: list[Sequence[str]] = [
        ("questions", "count", "greedy", "one sample", *(f"N = {size}" for size in SIZES))
    ]
    for kind in SHARES:
        some = [each for each in answered if each.item.kind == kind]
        if some:
            by_name = {way.name: way.accuracy for way in ways(some)}
            singles = list(by_name.values())[:2]
            votes = [by_name[f"N = {size}, {RULES[0][0]}"] for size in SIZES]
            rows.append((kind, str(len(some)), *(f"{share:.0%}" for share in (*singles, *votes))))
    return table(rows)


def agreement_table(answered: Sequence[Answered], size: int = 5) -> list[str]:
    """How often the winner is right, by how many agree with it: what ``min_consensus`` is good for."""
    votes = [count(each, size, Never()) for each in answered]
    rows: list[Sequence[str]] = [("agree", "questions", "right")]
    for consensus in range(size, -1, -1):
        some = [vote for vote in votes if vote.consensus == consensus]
        if some:
            right = sum(vote.right for vote in some)
            rows.append((f"{consensus} of {size}", str(len(some)), f"{right / len(some):.0%}"))
    return table(rows)
