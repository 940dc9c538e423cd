"""One choice of one request: the tokens it knows, of which a prefix has been computed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.output import OutputText
from reame_core.engine.sampling import Sampler

if TYPE_CHECKING:
    from reame_core.engine.constraining import Constrained
    from reame_core.engine.group import RequestGroup
    from reame_core.engine.slot import Slot
    from reame_core.plugins.api import Constraint


class Sequence:
    """There is no prefill and no decoding, only ``computed`` catching up with ``known``.

    It is queued while ``slot`` is None, and it may be parked behind a donor: another sequence that is about
    to compute a long prefix of the same prompt.
    """

    def __init__(
        self,
        number: int,
        group: RequestGroup,
        choice: int,
        limit: int,
        now: float,
        noise_floor: float = 0.0,
        constrained: Constrained | None = None,
    ) -> None:
        request = group.request
        if request.sampling_by_choice:
            request = replace(request, sampling=request.sampling_by_choice[choice])
        self.request = request
        """The group's, with this choice's own sampling."""
        self.id = number
        self.group = group
        self.choice = choice
        self.limit = limit
        """Most tokens it may ever know: the prompt and its longest possible answer."""
        self.prompt_length = len(request.prompt)
        self.known = self.prompt_length
        self._buffer = np.empty(limit, np.int32)
        self._buffer[: self.known] = request.prompt
        self.slot: Slot | None = None
        self.donor: Sequence | None = None
        self.donor_length = 0
        self.sampler = Sampler(request.sampling, request.prompt, choice, noise_floor)
        self.constrained = constrained
        self.output = OutputText(request.stop)
        self.logprob_sum = 0.0
        self.reused: dict[str, int] = {}
        self.drafts: dict[str, tuple[int, int]] = {}
        """(drafted, accepted) tokens by source."""
        self.cancelled = False
        self.submitted_at = now
        self.admitted_at = now
        self.first_token_at: float | None = None
        self.prefix_persisted = False

    @property
    def constraint(self) -> Constraint | None:
        return self.constrained.constraint if self.constrained is not None else None

    @property
    def draws(self) -> bool:
        """Whether drafts for it may be drawn: a seeded answer has to be the one it would be without drafts, and
        draws that a constraint forbids could not be dropped (``Draft.distributions``)."""
        sampling = self.request.sampling
        return sampling.temperature > 0 and sampling.seed is None and self.constrained is None

    def chooser(self) -> Sampler:
        """A copy of the sampler with random numbers of its own."""
        return self.sampler.apart()

    @property
    def tokens(self) -> NDArray[np.int32]:
        """(known,) a view."""
        return self._buffer[: self.known]

    @property
    def prompt(self) -> NDArray[np.int32]:
        """(prompt_length,) a view."""
        return self._buffer[: self.prompt_length]

    @property
    def buffer(self) -> NDArray[np.int32]:
        """(limit,) the memory behind ``tokens``."""
        return self._buffer

    @property
    def computed(self) -> int:
        return self.slot.length if self.slot is not None else 0

    @property
    def generated(self) -> int:
        return self.known - self.prompt_length

    @property
    def room(self) -> int:
        """Tokens it may still generate."""
        return self.limit - self.known

    @property
    def decoding(self) -> bool:
        """Whether all that is missing is the newest token."""
        return self.known - self.computed == 1 and self.generated > 0

    def append(self, token: int) -> None:
        self._buffer[self.known] = token
        self.known += 1


def common_prefix(a: NDArray[np.int32], b: NDArray[np.int32]) -> int:
    """Length of the longest common prefix of two token arrays."""
    length = min(len(a), len(b))
    if length == 0 or a[0] != b[0]:
        return 0
    different = a[:length] != b[:length]
    first = int(different.argmax())
    return first if different[first] else length
