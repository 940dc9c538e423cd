"""Log-probabilities in the two forms of the API."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reame_core.server.wire.responses import ChatLogprobs, CompletionLogprobs, TokenLogprob, TopLogprob

if TYPE_CHECKING:
    from reame_core.engine.backend import Backend
    from reame_core.engine.events import TokenLogprob as EngineLogprob

IMPOSSIBLE = -9999.0
"""Stands for minus infinity, which JSON cannot write."""


class TokenTexts:
    """How tokens are shown: those that are part of a character as ``bytes:\\xf0\\x9f``, as OpenAI does."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._control = {token: text for text, token in backend.info.special_tokens.items()}

    def piece(self, token: int) -> bytes:
        return self._backend.piece(token)

    def text(self, token: int) -> str:
        piece = self._backend.piece(token)
        try:
            return piece.decode() or self._control.get(token, "")
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)


def chat_logprobs(texts: TokenTexts, logprobs: Sequence[EngineLogprob]) -> ChatLogprobs:
    """The ``logprobs`` of a chat's choice or delta. The joined ``bytes`` are the text exactly."""
    return ChatLogprobs(
        [
            TokenLogprob(
                texts.text(each.token),
                _finite(each.logprob),
                list(texts.piece(each.token)),
                [
                    TopLogprob(texts.text(token), _finite(value), list(texts.piece(token)))
                    for token, value in each.top
                ],
            )
            for each in logprobs
        ]
    )


class CompletionLogprobWriter:
    """The legacy form of one choice, which has to know where each token begins in the text."""

    def __init__(self, texts: TokenTexts, offset: int) -> None:
        self._texts = texts
        self._offset = offset
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, logprobs: Sequence[EngineLogprob]) -> CompletionLogprobs:
        """The next tokens."""
        result = CompletionLogprobs([], [], [], [])
        for each in logprobs:
            shown = self._texts.text(each.token)
            result.tokens.append(shown)
            result.token_logprobs.append(_finite(each.logprob))
            alternatives = {self._texts.text(token): _finite(value) for token, value in each.top}
            result.top_logprobs.append(alternatives | {shown: _finite(each.logprob)})
            result.text_offset.append(self._offset)
            self._offset += len(self._decoder.decode(self._texts.piece(each.token)))
        return result


def _finite(value: float) -> float:
    return max(value, IMPOSSIBLE)
