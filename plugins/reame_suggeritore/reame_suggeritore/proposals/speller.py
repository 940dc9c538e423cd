"""From a text that may come next to tokens, as the model itself would spell it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

_TAIL = 8
"""Tokens before the seam that are tokenized with what is behind it: no merge reaches farther, in practice."""


class Speller:
    """``tokenize`` and ``piece`` are the vocabulary's."""

    def __init__(self, tokenize: Callable[[str], Sequence[int]], piece: Callable[[int], bytes]) -> None:
        self._tokenize = tokenize
        self._piece = piece

    def spell(self, before: Sequence[int], text: str, samples: Sequence[str]) -> list[int]:
        """The tokens of ``text`` behind the tokens ``before``, whichever of ``samples`` comes next.

        Empty where the text, written in one go, would have another last token before the seam: then the model
        means to go on otherwise. Tokens that would reach beyond ``text`` are left out.
        """
        tail = list(takewhile(self._piece, reversed(before[-_TAIL:])))[::-1]
        written = b"".join(map(self._piece, tail))
        try:
            known = written.decode()
        except UnicodeDecodeError:
            # The tail begins in the middle of a character.
            known = written.decode(errors="ignore")
        spelled = [self._behind(tail, known, text, sample) for sample in samples]
        common = takewhile(lambda column: len(set(column)) == 1, zip(*spelled, strict=False))
        return [column[0] for column in common]

    def _behind(self, tail: list[int], known: str, text: str, sample: str) -> list[int]:
        tokens = self._tokenize(known + text + sample)
        sizes = [len(self._piece(token)) for token in tokens]
        # Counted from the end, because some vocabularies put a blank before everything.
        behind = len((text + sample).encode())
        first = len(tokens)
        while first and behind > 0:
            first -= 1
            behind -= sizes[first]
        if behind or (tail and (not first or tokens[first - 1] != tail[-1])):
            return []
        room = len(text.encode())
        kept = []
        for token, size in zip(tokens[first:], sizes[first:], strict=True):
            room -= size
            if room < 0:
                break
            kept.append(token)
        return kept
