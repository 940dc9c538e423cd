"""What two questions have in common that differ by what was said last alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blake3 import blake3

from reame_arca.wishes import NAME
from reame_core.answers import decisive, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_core.plugins.api import Question


def rest_of(question: Question, rest: Sequence[int], *, seeded: bool) -> bytes | None:
    """Stands for all that decides an answer but the text of the last message: for the ``rest`` of the prompt
    and every setting. None for an answer that chance decides, or that is more than one plain text."""
    request = question.request
    described = decisive(question, keeper=NAME, seeded=seeded)
    if described is None or described["fields"] or request.n != 1 or request.logprobs is not None:
        return None
    # The room depends on the length of the prompt; what a request asks for does not.
    material = written({"max_tokens": request.max_tokens, **described}, rest)
    return None if material is None else blake3(material).digest()
