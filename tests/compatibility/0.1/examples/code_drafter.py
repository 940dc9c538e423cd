"""Drafts for code: the rest of an identifier that was written before, and the indentation of the line above.

Code says the same names again and again. When the newest tokens are the beginning of an identifier of the
prompt or of the answer, the rest of its latest occurrence is proposed; at the beginning of a line, the spaces
of the line above. Every draft is verified by the model: a wrong one costs a little time.
"""

from __future__ import annotations

import re

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Draft, PluginContext, SequenceView

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
FEWEST = 2
"""Characters of an identifier that have to be there before its rest is proposed."""
LOOK_BACK = 512
"""Tokens in which identifiers are looked for: the hook has to be quick."""


class CodeDrafter:
    """Keeps nothing between calls: everything is in the sequence."""

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Remember how this model's tokens and texts become each other."""
        self._piece = context.piece
        self._tokenize = context.tokenize

    @hookimpl
    def propose_draft(self, sequence: SequenceView, limit: int) -> Draft | None:
        """The rest of a name, or an indentation."""
        newest = sequence.tokens[-LOOK_BACK:].tolist()
        text = b"".join(map(self._piece, newest)).decode(errors="ignore")
        if text.endswith("\n"):
            return self._draft(indentation(text), limit, "indentation")
        return self._draft(rest_of_name(text), limit, "name")

    def _draft(self, text: str, limit: int, label: str) -> Draft | None:
        tokens = list(self._tokenize(text))[:limit] if text else []
        return Draft(tokens, label=label) if tokens else None


def indentation(text: str) -> str:
    """The spaces or tabs that the next line begins with, if it is like the last line that is not empty: one
    step deeper behind a colon or an opening bracket."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return ""
    last = lines[-1]
    spaces = last[: len(last) - len(last.lstrip())]
    step = "\t" if spaces.startswith("\t") else "    "
    return spaces + step if last.rstrip().endswith((":", "{", "(", "[")) else spaces


def rest_of_name(text: str) -> str:
    """What completes the identifier at the end of ``text`` to the latest earlier one that begins so."""
    begun = re.search(r"[A-Za-z_][A-Za-z0-9_]*$", text)
    if begun is None or len(begun[0]) < FEWEST:
        return ""
    names = IDENTIFIER.findall(text[: begun.start()])
    longer = (name for name in reversed(names) if name.startswith(begun[0]) and name != begun[0])
    return next(longer, begun[0])[len(begun[0]) :]


plugin = CodeDrafter()
