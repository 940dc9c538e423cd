"""One choice's constraint: an llguidance matcher behind the engine's protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from llguidance import LLMatcher
from numpy.typing import NDArray

if TYPE_CHECKING:
    from reame_suggeritore.structured.drafts import Guide
    from reame_suggeritore.structured.tokenizer import Tokenizer


class GrammarConstraint:
    """A ``Constraint`` (see ``reame_core.plugins.api``) that follows ``matcher``, which becomes its own."""

    def __init__(self, matcher: LLMatcher, tokenizer: Tokenizer, *, is_json: bool) -> None:
        self._matcher = matcher
        self._tokenizer = tokenizer
        self.is_json = is_json
        """Whether the answer is JSON or has JSON in it."""
        self.guide: Guide | None = None
        """What the drafts for it know, from the first one on."""

    @property
    def complete(self) -> bool:
        return self._matcher.is_stopped()

    def fill_mask(self, mask: NDArray[np.uint32]) -> None:
        self._matcher.unsafe_compute_mask_ptr(mask.ctypes.data, mask.nbytes)
        self._check()

    def accept(self, token: int) -> None:
        self._matcher.consume_token(token)
        self._check()

    def rollback(self, count: int) -> None:
        if count:
            self._matcher.rollback(count)
            self._check()

    def count_allowed(self, tokens: Sequence[int]) -> int:
        count = self._matcher.validate_tokens(list(tokens))
        self._check()
        return count

    def forced(self) -> list[int]:
        """The tokens that have to come now, as the model would write them; often none."""
        return self._matcher.compute_ff_tokens()

    def forced_after(self, text: bytes) -> bytes | None:
        """The bytes that have to come after ``text``, which is only tried; None where it cannot come."""
        probe = self._matcher.deep_copy()
        if not probe.consume_tokens(self._tokenizer.built.tokenize_bytes(text)):
            return None
        return probe.compute_ff_bytes()

    def _check(self) -> None:
        if self._matcher.is_error():
            raise RuntimeError(self._matcher.get_error().partition("\n")[0])
