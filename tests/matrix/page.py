"""The table of the docs: ``python -m tests.matrix.page`` writes it from the tests' own list."""

from __future__ import annotations

from pathlib import Path

from tests.matrix.cases import pairs, triples
from tests.matrix.features import FEATURES
from tests.matrix.model_cases import model_cases

PAGE = Path(__file__).parents[2] / "docs" / "composition.md"
_BEGIN, _END = "<!-- begin matrix -->", "<!-- end matrix -->"
_BOTH, _FAKE, _NEVER, _SELF = "●", "○", "–", ""


def text() -> str:
    """The tables, without the markers."""
    lines = ["| | feature | what it does in the test |", "|---|---|---|"]
    lines += [f"| {number} | {each.name} | {each.does} |" for number, each in enumerate(FEATURES, 1)]
    lines += ["", *_grid(), "", _sentence()]
    return "\n".join(lines)


def _grid() -> list[str]:
    """Each feature against each other one."""
    possible = {frozenset(case) for case in pairs()}
    real = {frozenset(case) for case in model_cases() if len(case) == 2}
    numbers = [str(number) for number in range(1, len(FEATURES) + 1)]
    lines = [f"| | {' | '.join(numbers)} |", "|---" * (len(FEATURES) + 1) + "|"]
    for row, feature in enumerate(FEATURES):
        cells = []
        for column, other in enumerate(FEATURES):
            pair = frozenset((feature, other))
            mark = _SELF if row == column else _NEVER if pair not in possible else _FAKE
            cells.append(_BOTH if pair in real else mark)
        lines.append(f"| {row + 1} {feature.name} | " + " | ".join(cells) + " |")
    return lines


def _sentence() -> str:
    return (
        f"{_BOTH} on the fake backend and on SmolLM2-135M, {_FAKE} on the fake backend, {_NEVER} two states of "
        f"one thing, or refused with a 400. {len(pairs())} pairs and {len(triples())} triples on the fake "
        f"backend, {len(model_cases())} cases on the real model, each feature but the draft model among them."
    )


def written(page: str) -> str:
    """What stands between the markers of ``page``."""
    return page.split(_BEGIN)[1].split(_END)[0].strip()


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    head, tail = page.split(_BEGIN)[0], page.split(_END)[1]
    PAGE.write_text(f"{head}{_BEGIN}\n\n{text()}\n\n{_END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
