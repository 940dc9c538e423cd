"""How to tell that a field is complete, by others of its like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from reame_suggeritore.proposals.fields import Field
from reame_suggeritore.proposals.values import common_ending

_NEW_SHAPE, _FRAGMENT = 0.15, 0.5
"""What is left of a chance where no field had this shape, or a last word half as short."""
_KNOWN_END = 0.85
_COMMON_END = 3
"""Characters that earlier fields have in common at their ends before that tells anything."""
_NUMERIC = re.compile(r"[d.,]*d[d.,]*")
_HEAD = re.compile(r"d+(?=[.,])")


def chance_of_end(now: Field, earlier: Sequence[Field]) -> float:
    """How likely the field ``now`` is complete, by those of its like before it."""
    if not earlier or not now.text:
        return 0.0
    texts = [field.text for field in earlier]
    if now.text in texts:
        return (texts.count(now.text) + 1) / (len(texts) + 2)
    if is_settled(now, earlier):
        return len(earlier) / (len(earlier) + 0.5)
    chance = _share_ending([field.tokens for field in earlier], now.tokens)
    words = [field.words for field in earlier]
    if set(words) != {now.words}:
        chance *= _share_ending(words, now.words)
    common = common_ending(texts)
    if len(common) >= _COMMON_END and len(earlier) > 1:
        return _KNOWN_END if now.text.endswith(common) else _NEW_SHAPE * chance
    if now.shape not in {field.shape for field in earlier}:
        chance *= _NEW_SHAPE
    if 2 * len(now.last_word) <= min(len(field.last_word) for field in earlier):
        chance *= _FRAGMENT
    return chance


def is_settled(now: Field, earlier: Sequence[Field]) -> bool:
    """Whether ``now`` is a number like all others: with as many digits, or as many behind its point."""
    shapes = {_without_head(field.shape) for field in earlier}
    return shapes == {_without_head(now.shape)} and _NUMERIC.fullmatch(now.shape) is not None


def literal_ahead(now: Field, earlier: Sequence[Field]) -> str:
    """The point or the like that comes behind the digits of ``now``, if numbers had the same shape before."""
    shapes = {field.shape for field in earlier}
    mine = now.shape
    if len(earlier) < 2 or not mine.endswith("d") or len({_without_head(shape) for shape in shapes}) > 1:
        return ""
    shape = max(shapes, key=len)
    if not shape.startswith(mine) or (len(shapes) > 1 and not _HEAD.match(shape)):
        return ""
    return "".join(takewhile(lambda character: character not in "ad", shape[len(mine) :]))


def _without_head(shape: str) -> str:
    """``shape`` whatever the number of digits before its first point."""
    return _HEAD.sub("d", shape, count=1)


def _share_ending(sizes: Sequence[int], size: int) -> float:
    """Of the ``sizes`` that reached this one, those that went no further."""
    reached = [each for each in sizes if each >= size]
    return (reached.count(size) + 0.4) / (len(reached) + 1)
