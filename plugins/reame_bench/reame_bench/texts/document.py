"""Questions on one document."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from reame_bench.texts.prose import handbook

if TYPE_CHECKING:
    from reame_bench.client import Messages

_WORDS = 700
_QUESTIONS = (
    "What does paragraph {n} say? Quote it.",
    "Who is named in paragraph {n}? Answer with one short sentence.",
    "Which numbers are in paragraph {n}? List them, separated by commas.",
    "When does it happen, by paragraph {n}? Answer with one short sentence.",
    "Repeat the first sentence of paragraph {n}.",
    "Repeat the last sentence of paragraph {n}.",
)
ANSWER_TOKENS = 64


def conversations(count: int, seed: int = 5) -> list[Messages]:
    """``count`` questions on a handbook of some 700 words; after some hundreds they come again."""
    rng = random.Random(seed)
    text = handbook(_WORDS)
    paragraphs = text.count("\n") + 1
    system = f"Answer questions on this handbook, by its words alone.\n\n{text}"
    questions = [question.format(n=n) for question in _QUESTIONS for n in range(1, paragraphs + 1)]
    order = [each for _ in range(count // len(questions) + 1) for each in rng.sample(questions, len(questions))]
    return [
        [{"role": "system", "content": system}, {"role": "user", "content": question}]
        for question in order[:count]
    ]
