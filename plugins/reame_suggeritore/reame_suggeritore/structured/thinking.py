"""Models that think before they answer: what is asked of the answer begins behind their thoughts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from reame_suggeritore.structured.grammar import Grammar, quoted
from reame_suggeritore.structured.thoughts import CLOSE, OPEN, ThoughtParser

if TYPE_CHECKING:
    from reame_core.plugins.api import Constraint, ConstraintMaker, ReplyParser
    from reame_suggeritore.structured.compiler import Compiler
    from reame_suggeritore.structured.tokenizer import Tokenizer

_SEEN = 16
"""Tokens at the end of a prompt in which a template opens or closes the thoughts."""
_THOUGHTS = rf"""
behind: thoughts WS? @answer
thoughts[lazy]: TEXT "{CLOSE}"
TEXT: /(.|\n)*/
WS: /\s{{1,4}}/
"""


class Thinking:
    """By the model's chat ``template``."""

    def __init__(self, tokenizer: Tokenizer, template: str | None) -> None:
        self._tokenizer = tokenizer
        self.possible = CLOSE in (template or "")

    def maker(self, compiler: Compiler, grammar: Grammar, *, chat: bool) -> ConstraintMaker:
        """What makes the constraints of answers that obey ``grammar``. Compiles all that it may need. Raises
        InvalidRequest."""
        start = partial(compiler.constraint, is_json=grammar.is_json)
        at_once = compiler.compile(grammar)
        if not chat or not self.possible:
            return lambda prompt: start(at_once)
        begun = compiler.compile(_behind(grammar, "start: behind" + _THOUGHTS))
        either = compiler.compile(_behind(grammar, f"start: @answer | {quoted(OPEN)} behind" + _THOUGHTS))

        def make(prompt: Sequence[int]) -> Constraint:
            end = self._end(prompt)
            if end.endswith(CLOSE):
                return start(at_once)
            return start(begun if end.endswith(OPEN) else either)

        return make

    def parser(self, answer: Callable[[], ReplyParser] | None) -> Callable[[Sequence[int]], ReplyParser] | None:
        """Makes parsers that tell thoughts from the answer, which those of ``answer`` parse; None where there
        is nothing to tell apart."""
        if self.possible:
            return lambda prompt: ThoughtParser(answer and answer(), begun=self._end(prompt).endswith(OPEN))
        return (lambda prompt: answer()) if answer is not None else None

    def _end(self, prompt: Sequence[int]) -> str:
        return self._tokenizer.text(prompt[-_SEEN:]).decode(errors="replace").rstrip()


def _behind(grammar: Grammar, lark: str) -> Grammar:
    """``lark`` with ``grammar`` as its part ``@answer``."""
    first, *others = json.loads(grammar.text)["grammars"]
    parts = [{"lark_grammar": lark}, {**first, "name": "answer"}, *others]
    return Grammar(json.dumps({"grammars": parts}), grammar.param, grammar.is_json)
