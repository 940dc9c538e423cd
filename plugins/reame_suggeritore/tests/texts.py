"""Texts read by the plugin's proposers alone, without an engine, in the fake vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import NDArray
from reame_suggeritore.options import SuggeritoreOptions
from reame_suggeritore.proposals.prompter import Prompter

from reame_core.engine.request import Request
from reame_core.plugins.api import Draft, PluginContext
from reame_core.testing import FakeBackend
from reame_core.testing import fake_vocabulary as vocabulary

BACKEND = FakeBackend()
CONTEXT = PluginContext(BACKEND.info, {}, piece=vocabulary.piece, tokenize=vocabulary.tokenize)
_NUMBERS = count(1)


def chat(question: str) -> list[int]:
    """As the fake model's chat template writes it."""
    text = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
    return [vocabulary.BOS, *vocabulary.tokenize(text, parse_special=True)]


@dataclass
class Sequence:
    """As much of a sequence as proposers look at."""

    prompt: list[int]
    answer: list[int] = field(default_factory=list)
    id: int = field(default_factory=lambda: next(_NUMBERS))
    choice: int = 0
    computed: int = 0
    room: int = 1000

    @property
    def tokens(self) -> NDArray[np.int32]:
        return np.array(self.prompt + self.answer, np.int32)

    @property
    def prompt_length(self) -> int:
        return len(self.prompt)

    @property
    def request(self) -> Request:
        return Request(prompt=tuple(self.prompt))


def written(tokens: list[int]) -> str:
    """Their text; ``<end>`` for control tokens."""
    return b"".join(vocabulary.piece(token) or b"<end>" for token in tokens).decode()


def drafted(answer: str, question: str = "?", limit: int = 200, **options: bool) -> Draft | None:
    """What is proposed behind ``answer``, read token by token."""
    prompter = Prompter(CONTEXT, SuggeritoreOptions(**options))
    sequence = Sequence(chat(question))
    draft = prompter.propose(sequence, limit)
    for token in vocabulary.tokenize(answer):
        sequence.answer.append(token)
        draft = prompter.propose(sequence, limit)
    return draft


def proposed(answer: str, question: str = "?", limit: int = 200, **options: bool) -> str | None:
    """Its text."""
    draft = drafted(answer, question, limit, **options)
    return None if draft is None else written(list(draft.tokens))


def gained(answer: str, question: str = "?", least: float = 0.0) -> tuple[int, int, int]:
    """(tokens of the whole ``answer`` that were proposed right before they came, wrong proposals, tokens) for
    proposals that are at least so sure."""
    prompter = Prompter(CONTEXT, SuggeritoreOptions())
    sequence = Sequence(chat(question))
    tokens = [*vocabulary.tokenize(answer), vocabulary.TURN_END]
    at = right = wrong = 0
    while at < len(tokens):
        draft = prompter.propose(sequence, 64)
        kept = 0
        if draft is not None and (draft.confidence or 0) >= least:
            for guess, token in zip(draft.tokens, tokens[at:], strict=False):
                if guess != token:
                    wrong += 1
                    break
                kept += 1
        right += kept
        at += kept + 1
        sequence.answer = tokens[:at]
    return right, wrong, len(tokens)
