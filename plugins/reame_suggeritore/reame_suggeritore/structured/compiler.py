"""Grammars ready for use, the latest ones kept."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np
from llguidance import LLMatcher

from reame_core.errors import InvalidRequest
from reame_suggeritore.structured.constraint import GrammarConstraint
from reame_suggeritore.structured.grammar import Grammar
from reame_suggeritore.structured.tokenizer import Tokenizer
from reame_suggeritore.structured.wording import one_line

KEPT = 64
"""Compiled grammars. What they have worked out about the vocabulary is shared by all who use them."""


class Compiler:
    """Any thread may use it."""

    def __init__(self, tokenizer: Tokenizer, kept: int = KEPT) -> None:
        self.tokenizer = tokenizer
        self._kept = kept
        self._lock = threading.Lock()
        self._matchers: OrderedDict[str, LLMatcher] = OrderedDict()
        self.compiled = 0
        """How many had to be compiled, in this process."""

    def compile(self, grammar: Grammar) -> LLMatcher:
        """The matcher of ``grammar`` at its beginning; not to be moved, but copied. Raises InvalidRequest for
        what is wrong, unsupported, or permits nothing."""
        with self._lock:
            matcher = self._matchers.get(grammar.text)
            if matcher is not None:
                self._matchers.move_to_end(grammar.text)
                return matcher
        problem, matcher = self.attempt(grammar.text)
        if matcher is None:
            raise InvalidRequest(f"{grammar.param} cannot be used: {problem}", param=grammar.param)
        with self._lock:
            self.compiled += 1
            self._matchers[grammar.text] = matcher
            while len(self._matchers) > self._kept:
                self._matchers.popitem(last=False)
        return matcher

    def attempt(self, text: str) -> tuple[str, LLMatcher | None]:
        """(what is wrong, None) or ("", the matcher)."""
        matcher = LLMatcher(self.tokenizer.built, text, log_level=0)
        mask = np.zeros((self.tokenizer.size + 31) // 32, np.uint32)
        if not matcher.is_error():
            # Some grammars turn out to permit nothing, or too much to follow, only now.
            matcher.unsafe_compute_mask_ptr(mask.ctypes.data, mask.nbytes)
        if matcher.is_error():
            return _reason(matcher.get_error()), None
        if not mask.any():
            return "nothing is permitted by it", None
        return "", matcher

    def constraint(self, matcher: LLMatcher, *, is_json: bool) -> GrammarConstraint:
        """A constraint at the beginning of what ``matcher`` permits."""
        return GrammarConstraint(matcher.deep_copy(), self.tokenizer, is_json=is_json)


def _reason(error: str) -> str:
    """The part of llguidance's message that speaks of the grammar, not of its own state."""
    if error.startswith("NoExtension"):
        return "nothing is permitted by it"
    if error.startswith("Unimplemented keys: "):
        return f"it is not supported ({error.removeprefix('Unimplemented keys: ')})"
    if error.startswith("oneOf constraints"):
        return "oneOf is supported only where no value can match two of its schemas: use anyOf"
    lines = [line for line in error.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("error: ")] or lines[:1]
    return one_line(" ".join(told).removeprefix("error: "))
