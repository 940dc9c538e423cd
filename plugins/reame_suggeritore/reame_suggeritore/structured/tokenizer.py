"""The model's vocabulary as llguidance reads it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from llguidance import LLTokenizer, TokenizerWrapper

if TYPE_CHECKING:
    from reame_core.plugins.api import PluginContext


class Tokenizer:
    """Built when the first request asks for structure: a vocabulary of 152,000 tokens takes half a second. Any
    thread may use it."""

    def __init__(self, context: PluginContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._built: LLTokenizer | None = None
        self.end_tokens = tuple(sorted(context.model.end_tokens))

    @property
    def size(self) -> int:
        """Tokens of the vocabulary."""
        return self._context.model.vocabulary_size

    def text(self, tokens: Sequence[int]) -> bytes:
        """What ``tokens`` add to a text, nothing for control tokens."""
        return b"".join(map(self._context.piece, tokens))

    def tokens(self, text: str) -> list[int]:
        """The tokens of ``text`` as the model would write it, none of them a control token."""
        return list(self._context.tokenize(text))

    @property
    def built(self) -> LLTokenizer:
        """For llguidance; the first call builds it."""
        with self._lock:
            if self._built is None:
                wrapper = TokenizerWrapper(_Vocabulary(self._context))
                self._built = LLTokenizer(
                    wrapper, eos_token=list(self.end_tokens), slices=LLTokenizer.json_slices()
                )
            return self._built


class _Vocabulary:
    """What ``TokenizerWrapper`` reads. Control tokens and end tokens are marked, so that no text can be made of
    them: an end token that is written like ordinary text would otherwise end a string in the middle."""

    def __init__(self, context: PluginContext) -> None:
        model = context.model
        special = {token: text.encode() for text, token in model.special_tokens.items()}
        for token in model.end_tokens:
            special.setdefault(token, b"<end of answer %d>" % token)
        self._tokenize = context.tokenize
        self.eos_token_id = min(model.end_tokens)
        self.bos_token_id = model.bos
        self.special_token_ids = sorted(special)
        self.tokens = [
            special[token] if token in special else context.piece(token)
            for token in range(model.vocabulary_size)
        ]

    def __call__(self, text: str | bytes) -> list[int]:
        return list(self._tokenize(text.decode() if isinstance(text, bytes) else text))
