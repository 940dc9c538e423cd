"""A long text whose sentences all differ: a handbook of a harbour, as long as wanted."""

from __future__ import annotations

import random

_WHO = (
    "the harbour master", "the pilot", "the lamp keeper", "the crane driver", "the ship's cook",
    "the customs officer",
    "the rope maker", "the night watchman", "the lock keeper", "the diver", "the clerk", "the ferryman",
)  # fmt: skip
_DOES = (
    "checks", "paints", "counts", "moves", "weighs", "repairs", "inspects", "signs for", "locks", "cleans",
    "orders",
    "numbers",
)  # fmt: skip
_WHAT = (
    "the anchors", "the signal flags", "the barrels", "the lifeboats", "the mooring lines", "the tide gauge",
    "the lanterns", "the grain sacks", "the pumps", "the buoys", "the gangways", "the logbooks",
)  # fmt: skip
_WHEN = (
    "before sunrise", "at high water", "every second Tuesday", "after each storm", "at the change of the watch",
    "when the bell has rung twice", "in the first week of the quarter", "as long as the ice lasts",
)  # fmt: skip
_RULE = (
    "No more than {n} may be left on pier {p}.", "The limit is {n} per shift, {p} at night.",
    "Whoever finds fewer than {n} writes to office {p}.", "It takes about {n} minutes and {p} people.",
    "The fee is {n} crowns, or {p} for residents.", "Rule {n} of chapter {p} does not apply then.",
)  # fmt: skip


def handbook(words: int, seed: int = 4) -> str:
    """About ``words`` words, in numbered paragraphs of four sentences."""
    rng = random.Random(seed)
    paragraphs: list[str] = []
    count = 0
    while count < words:
        sentences = []
        for _ in range(2):
            sentences.append(
                f"{rng.choice(_WHO).capitalize()} {rng.choice(_DOES)} {rng.choice(_WHAT)} {rng.choice(_WHEN)}."
            )
            sentences.append(rng.choice(_RULE).format(n=rng.randrange(2, 90), p=rng.randrange(2, 30)))
        paragraphs.append(f"{len(paragraphs) + 1}. {' '.join(sentences)}")
        count += sum(len(each.split()) for each in sentences)
    return "\n".join(paragraphs)
