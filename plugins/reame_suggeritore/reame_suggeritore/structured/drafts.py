"""Drafts for constrained answers: what is forced, and what the prompt lets expect."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from reame_core.plugins.api import Draft, SequenceView
from reame_suggeritore.structured.constraint import GrammarConstraint
from reame_suggeritore.structured.json_place import JsonPlace
from reame_suggeritore.structured.source_text import SourceText

if TYPE_CHECKING:
    from reame_suggeritore.structured.tokenizer import Tokenizer

_AFTER_NUMBERS = (b",", b"}", b"]")


class Guide:
    """For one answer in JSON: follows it and proposes its values, up to where the constraint leaves a choice
    again."""

    def __init__(self, sequence: SequenceView, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._read = sequence.prompt_length
        prompt = tokenizer.text(sequence.tokens[: self._read].tolist())
        self._source = SourceText(prompt.decode(errors="replace"))
        self._place = JsonPlace()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def follow(self, sequence: SequenceView) -> None:
        """Read what the answer has got since the last time."""
        fresh = sequence.tokens[self._read :].tolist()
        self._read += len(fresh)
        for value in self._place.read(self._decoder.decode(self._tokenizer.text(fresh))):
            self._source.found(value)

    def propose(self, constraint: GrammarConstraint) -> Draft | None:
        """The rest of the value that is to come, and what the constraint has to follow it."""
        forced = (constraint.forced_after(b"") or b"").decode(errors="ignore")
        place = self._place.after(forced)
        begun, source = place.value, self._source
        if place.in_string:
            value = source.rest_of_text(begun) if begun else source.text_called(place.key)
        elif place.in_number:
            value = source.rest_of_number(begun)
        else:
            value = source.number_called(place.key) if place.expects_value else None
        if value is None:
            return None
        for closing in (b'"',) if place.in_string else _AFTER_NUMBERS:
            whole = (forced + value).encode() + closing
            behind = constraint.forced_after(whole)
            if behind is not None:
                tokens = self._tokenizer.tokens((whole + behind).decode(errors="ignore"))
                return Draft(tokens, label="copied" if begun else "named", match_length=len(begun))
        return None


def draft_for(sequence: SequenceView, limit: int, tokenizer: Tokenizer) -> Draft | None:
    """What is forced now, or else what a value will probably be."""
    constraint = sequence.constraint
    if not isinstance(constraint, GrammarConstraint):
        return None
    guide = constraint.guide
    if guide is None and constraint.is_json:
        # Also where something is forced: the first time, which reads the prompt, is not what asking takes.
        guide = constraint.guide = Guide(sequence, tokenizer)
    if tokens := constraint.forced():
        return Draft(tokens[:limit], confidence=1.0, label="forced")
    if guide is None:
        return None
    guide.follow(sequence)
    draft = guide.propose(constraint)
    return draft.shortened(limit) if draft is not None else None
