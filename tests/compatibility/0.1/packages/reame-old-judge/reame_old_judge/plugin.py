"""Chooses the answer whose last line most candidates agree on."""

from __future__ import annotations

from collections import Counter

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import CandidateState, Group


class OldJudge:
    """For requests that compute several candidates and answer with one."""

    @hookimpl
    def select_winner(self, group: Group) -> int | None:
        """The number of the candidate that wins; None to wait for more. Asked whenever one has ended."""
        ended = [c for c in group.candidates if c.state is CandidateState.ENDED and c.text.strip()]
        lines = {c.choice: c.text.strip().splitlines()[-1].strip().casefold() for c in ended}
        if not lines:
            return None
        line, votes = Counter(lines.values()).most_common(1)[0]
        running = any(c.state is CandidateState.RUNNING for c in group.candidates)
        if running and 2 * votes <= len(group.candidates):
            return None
        return next(choice for choice in lines if lines[choice] == line)
