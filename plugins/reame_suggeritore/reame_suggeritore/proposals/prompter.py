"""All sequences under way, and what the form of each proposes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.plugins.api import Draft, PluginContext, SequenceView
from reame_suggeritore.proposals.reader import Reader
from reame_suggeritore.proposals.speller import Speller

if TYPE_CHECKING:
    from reame_suggeritore.options import SuggeritoreOptions

LEAST = 0.12
"""A proposal that is less sure than this is not worth a thought."""
_MOST_SEQUENCES = 256
"""More are never under way at the same time; some end without a word, by an error."""


class Prompter:
    """For the engine thread."""

    def __init__(self, context: PluginContext, options: SuggeritoreOptions) -> None:
        self._context = context
        self._options = options
        self._speller = Speller(context.tokenize, context.piece)
        self._readers: dict[int, Reader] = {}

    def propose(self, sequence: SequenceView, limit: int) -> Draft | None:
        """Up to ``limit`` tokens that the form of the text so far asks for."""
        reader = self._readers.get(sequence.id)
        if reader is None:
            reader = self._begin(sequence)
        proposal = reader.propose(sequence.tokens)
        if proposal is None or proposal.confidence < LEAST:
            return None
        tail = sequence.tokens[-8:].tolist()
        tokens = self._speller.spell(tail, proposal.text, proposal.samples) if proposal.text else []
        if proposal.end and reader.end_token is not None:
            tokens.append(reader.end_token)
        if not tokens:
            return None
        return Draft(tokens[:limit], confidence=min(1.0, proposal.confidence), label=proposal.label)

    def _begin(self, sequence: SequenceView) -> Reader:
        if len(self._readers) >= _MOST_SEQUENCES:
            del self._readers[next(iter(self._readers))]
        reader = Reader(self._context, sequence.tokens[: sequence.prompt_length].tolist(), self._options)
        self._readers[sequence.id] = reader
        return reader

    def forget(self, sequence: int) -> None:
        """The sequence with this number has ended."""
        self._readers.pop(sequence, None)
