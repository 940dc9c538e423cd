"""An answer as bytes, with the question it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from reame_core.engine.events import TextDelta, TokenLogprob
from reame_core.plugins.api import AnsweredChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_core.plugins.api import Question

_VERSION = 1


class _Logprob(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    token: int
    logprob: float
    top: list[tuple[int, float]]


class _Delta(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    text: str
    tokens: tuple[int, ...]
    logprobs: list[_Logprob]


class _Choice(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    deltas: list[_Delta]
    reason: Literal["stop", "length"]
    completion: int
    stopped_by: str | int | None


class Record(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """``choices`` empty says that there is an answer, and that it was not kept."""

    version: int
    material: bytes
    """What stands for the question; see ``material_of``."""
    made_at: float
    """Seconds since 1970, by the clock of whoever computed it."""
    choices: list[_Choice]


_decoder = msgspec.msgpack.Decoder(Record)


def encode(material: bytes, made_at: float, answer: Sequence[AnsweredChoice]) -> bytes:
    """The record of ``answer``; of none where it is empty."""
    choices = [
        _Choice(
            [_delta(each) for each in choice.deltas],
            "length" if choice.reason == "length" else "stop",
            choice.completion,
            choice.stopped_by,
        )
        for choice in answer
    ]
    return msgspec.msgpack.encode(Record(_VERSION, material, made_at, choices))


def decode(payload: bytes) -> Record | None:
    """None for anything that is no record."""
    try:
        record = _decoder.decode(payload)
    except msgspec.MsgspecError:
        return None
    return record if record.version == _VERSION else None


def answer_of(record: Record, question: Question, vocabulary: int) -> list[AnsweredChoice] | None:
    """The choices, where they can be an answer to ``question``; None where they cannot."""
    if len(record.choices) != question.request.n:
        return None
    if not all(_possible(choice, question, vocabulary) for choice in record.choices):
        return None
    return [
        AnsweredChoice(
            tuple([_told(number, delta) for delta in choice.deltas]),
            choice.reason,
            choice.completion,
            choice.stopped_by,
        )
        for number, choice in enumerate(record.choices)
    ]


def _possible(choice: _Choice, question: Question, vocabulary: int) -> bool:
    tokens = [token for delta in choice.deltas for token in delta.tokens]
    if not len(tokens) <= choice.completion <= question.room or not _all_known(tokens, vocabulary):
        return False
    if question.request.logprobs is None:
        return not any(delta.logprobs for delta in choice.deltas)
    return all(
        len(delta.logprobs) == len(delta.tokens)
        and all(
            _all_known([each.token, *(token for token, _ in each.top)], vocabulary) for each in delta.logprobs
        )
        for delta in choice.deltas
    )


def _all_known(tokens: Sequence[int], vocabulary: int) -> bool:
    return not tokens or (min(tokens) >= 0 and max(tokens) < vocabulary)


def _delta(delta: TextDelta) -> _Delta:
    logprobs = [_Logprob(each.token, each.logprob, list(each.top)) for each in delta.logprobs]
    return _Delta(delta.text, tuple(delta.tokens), logprobs)


def _told(choice: int, delta: _Delta) -> TextDelta:
    if not delta.logprobs:
        return TextDelta(choice, delta.text, delta.tokens)
    logprobs = tuple(TokenLogprob(each.token, each.logprob, tuple(each.top)) for each in delta.logprobs)
    return TextDelta(choice, delta.text, delta.tokens, logprobs)
