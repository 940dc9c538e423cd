"""What a constraint forces is proposed."""

from __future__ import annotations

from reame_core.plugins.api import Draft, SequenceView
from reame_suggeritore.structured.constraint import GrammarConstraint


def forced_draft(sequence: SequenceView, limit: int) -> Draft | None:
    """The tokens that have to come now."""
    constraint = sequence.constraint
    if not isinstance(constraint, GrammarConstraint):
        return None
    tokens = constraint.forced()[:limit]
    return Draft(tokens, confidence=1.0, label="forced") if tokens else None
