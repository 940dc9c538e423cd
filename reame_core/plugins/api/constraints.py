"""What may come next: constraints that plugins make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Constraint(Protocol):
    """Which tokens may come next in one choice of a request, as far as it has come. For the engine thread.
    Whatever a method raises fails the choice: nothing is ever generated without its constraint."""

    @property
    def complete(self) -> bool:
        """Whether nothing can follow: the answer ends here, without an end token."""
        ...

    def fill_mask(self, mask: NDArray[np.uint32]) -> None:
        """Write every word of ``mask`` (ceil(vocabulary / 32),): bit t % 32 of word t // 32 says whether
        token t may come next. End tokens may where the answer may end; at least one token always may. It is
        asked for at every step of every constrained answer: keep it below half a millisecond."""
        ...

    def accept(self, token: int) -> None:
        """Go on to the state behind ``token``, which is allowed and no end token."""
        ...

    def rollback(self, count: int) -> None:
        """Go back by the latest ``count`` tokens that were accepted."""
        ...

    def count_allowed(self, tokens: Sequence[int]) -> int:
        """How many of ``tokens``, from the first one on, may come one after another; none behind an end
        token. The state stays as it is."""
        ...


ConstraintMaker = Callable[[Sequence[int]], Constraint]
"""Makes the constraint of one choice, at its beginning, behind a prompt of these tokens. Called on the engine
thread for each choice: compile beforehand."""
