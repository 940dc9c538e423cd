"""One sequence, read along: its prompt once, its answer token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reame_core.plugins.api import PluginContext
from reame_suggeritore.proposals.echo import Echo
from reame_suggeritore.proposals.ending import Quota
from reame_suggeritore.proposals.json.proposer import Json
from reame_suggeritore.proposals.lines import ENDING, Lines
from reame_suggeritore.proposals.page import Page
from reame_suggeritore.proposals.prompt import Prompt
from reame_suggeritore.proposals.proposal import Proposal
from reame_suggeritore.proposals.sequence import PLAIN
from reame_suggeritore.templates.shown import show_lines, shown_json

if TYPE_CHECKING:
    from reame_suggeritore.options import SuggeritoreOptions


_LONGEST = 4096
"""Tokens of a prompt that are looked at, the last ones."""
_JSON_ENDS = 0.6


class Reader:
    """For the engine thread."""

    def __init__(self, context: PluginContext, prompt: Sequence[int], options: SuggeritoreOptions) -> None:
        self._known = len(prompt)
        prompt = prompt[-_LONGEST:]
        facts = Prompt(prompt, context.piece, context.model)
        self.end_token = facts.end_token
        self._page = Page(context.piece)
        self._page.read(prompt)
        self._page.begin_answer(control_before=facts.has_control_tokens)
        quota = Quota(facts.numbers())
        self._lines = Lines(quota.reached, can_end=facts.end_token is not None)
        self._echo = Echo(facts.question)
        memory = None
        if options.templates:
            show_lines(self._lines, self._page.before)
            memory = shown_json(self._page.before)
        self._json = Json(quota.enough, memory)

    def propose(self, tokens: NDArray[np.int32]) -> Proposal | None:
        """What may follow ``tokens``, all of the sequence's."""
        self._page.read(tokens[self._known :].tolist())
        self._known = len(tokens)
        for text in self._page.fresh:
            self._json.read(text)
        self._lines.read(self._page)
        if not self._page.whole:
            return None
        if self._json.just_done:
            return self._completed(Proposal("", _JSON_ENDS, ENDING, ("",)))
        if self._json.active:
            proposal = self._json.propose()
            return self._completed(proposal) if proposal is not None and proposal.end else proposal
        return self._lines.propose(self._page.current) or self._echoed()

    def _echoed(self) -> Proposal | None:
        """The question once more, in the first line of the answer."""
        text = self._page.current.text
        coming = self._echo.go_on(text) if not self._page.lines else None
        if coming is None or self._lines.reading(text).kind != PLAIN:
            return None
        return Proposal(*coming, "echo")

    def _completed(self, proposal: Proposal) -> Proposal:
        """``proposal`` completes a JSON text; what may follow: the end of its block, that of the answer."""
        fence = self._lines.outline.open_fence
        text = f"{proposal.text}\n{fence}" if fence else proposal.text
        return replace(proposal, text=text, end=self.end_token is not None)
