"""Sequences under way: drafts from their tenants' archives, and what becomes of their answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from reame_palimpsest.archive import Archive
from reame_palimpsest.follower import Follower
from reame_palimpsest.generations import Tokens, generation, prompt_key
from reame_palimpsest.match import Place
from reame_palimpsest.per_sequence import PerSequence

if TYPE_CHECKING:
    from reame_core.engine.request import Request
    from reame_core.plugins.api import Draft, SequenceView

NAME = "palimpsest"
"""Of the plugin, and so of its part of ``Request.extra``."""


class _Pursuit:
    """One sequence's way through the archive."""

    def __init__(
        self, archive: Archive, sequence: SequenceView, model: str, least: int, vocabulary: int
    ) -> None:
        self._archive = archive
        self._tenant = sequence.request.tenant
        self._prompt_length = sequence.prompt_length
        self._least = least
        self._vocabulary = vocabulary
        self._prompt_compared = False
        self.key = prompt_key(model, sequence.tokens[: sequence.prompt_length])
        self.follower = Follower(self._search, temperature=sequence.request.sampling.temperature)

    def _search(self, tokens: Tokens) -> Place | None:
        view = self._archive.view(self._tenant)
        if view is None:
            return None
        place = None
        if not self._prompt_compared:
            self._prompt_compared = True
            place = view.answer(self.key, self._prompt_length, tokens[self._prompt_length :])
        place = place or view.search(tokens, self._least)
        # Whoever filled this archive, the engine must not see tokens the model does not have.
        return place if place is not None and place.tokens.max() < self._vocabulary else None


class Pursuits:
    """For the engine thread. ``least`` tokens make a match, tokens lie below ``vocabulary``; ``model`` tells
    apart models that share the archive."""

    def __init__(
        self,
        archive: Archive,
        model: str,
        *,
        least: int,
        vocabulary: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._archive = archive
        self._model = model
        self._least = least
        self._vocabulary = vocabulary
        self._clock = clock
        self._states: PerSequence[_Pursuit] = PerSequence()
        self.shares: Callable[[Request], bool] = lambda request: True
        """Whether others may be told of the answer to a request."""

    def expect(self, sequence: SequenceView) -> None:
        """It is about to be computed: its tenant's archive should be open by the time it is answered."""
        self._archive.view(sequence.request.tenant)

    def propose(self, sequence: SequenceView, limit: int) -> Draft | None:
        """What was said before in the same place."""
        if not wishes(sequence.request)["draft"]:
            return None
        return self._state(sequence).follower.propose(sequence.tokens, limit)

    def end(self, sequence: SequenceView, *, store: bool) -> None:
        """Archive what was generated, if there is anything and nobody minds."""
        answered = len(sequence.tokens) > sequence.prompt_length
        if store and answered and wishes(sequence.request)["archive"]:
            key = self._state(sequence).key
            now = int(self._clock())
            made = generation(sequence.tokens, sequence.prompt_length, key, now)
            self._archive.store(sequence.request.tenant, made, shared=self.shares(sequence.request))
        self._states.pop(sequence.id)

    def _state(self, sequence: SequenceView) -> _Pursuit:
        return self._states.get(
            sequence.id,
            lambda: _Pursuit(self._archive, sequence, self._model, self._least, self._vocabulary),
        )


def wishes(request: Request) -> dict[str, bool]:
    """Whether a request wants drafts from the archive, and its answer in it."""
    given = request.extra.get(NAME)
    wanted = given if isinstance(given, Mapping) else {}
    return {what: wanted.get(what) is not False for what in ("archive", "draft")}
