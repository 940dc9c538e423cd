"""What a hook sees of a sequence under way: its tokens, its cells, its sampler."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import threading

    import numpy as np
    from numpy.typing import NDArray

    from reame_core.engine.request import Request
    from reame_core.plugins.api.constraints import Constraint


class SequenceView(Protocol):
    """One sequence of tokens under way. Read only; valid during the hook call."""

    @property
    def id(self) -> int:
        """Unique in this process."""
        ...

    @property
    def request(self) -> Request: ...

    @property
    def choice(self) -> int:
        """Which of the request's ``n`` choices this is."""
        ...

    @property
    def constraint(self) -> Constraint | None:
        """What says which tokens may come: the object that ``FieldService.constraint`` has made for this
        choice, at the state behind ``tokens``. To be asked, not to be moved."""
        ...

    @property
    def tokens(self) -> NDArray[np.int32]:
        """(known,) prompt and generated tokens so far; a view, do not keep it."""
        ...

    @property
    def prompt_length(self) -> int: ...

    @property
    def computed(self) -> int:
        """How many of ``tokens`` are in the KV memory."""
        ...

    @property
    def room(self) -> int:
        """How many more tokens this sequence may generate."""
        ...

    def chooser(self) -> TokenChooser:
        """A copy of the request's sampler at the newest token, for drafts: with random numbers of its own, for
        a draft that is drawn by those of the verifier would not be independent of the verdict."""
        ...


class TokenChooser(Protocol):
    """The request's sampler, as the verifier sees it."""

    def choose(self, logits: NDArray[np.float32]) -> int:
        """The next token for one line of logits (vocabulary,), greedy or drawn with the request's own
        random numbers. Call ``accept`` before the next line."""
        ...

    def confirm(self, logits: NDArray[np.float32], drafted: int) -> int:
        """As ``choose``, but where the request is greedy and ``drafted`` is as good as the best token within
        the measured noise of this host's kernels, it is the one."""
        ...

    def probabilities(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """(vocabulary,) the distribution ``choose`` draws from."""
        ...

    def accept(self, token: int) -> None:
        """Take ``token`` as the next one: penalties count it from now on."""
        ...

    def uniform(self) -> float:
        """One random number from [0, 1) of the request's own generator."""
        ...

    def draw(self, weights: NDArray[np.float32]) -> int:
        """A token drawn with probabilities proportional to ``weights`` (vocabulary,)."""
        ...


class KVAccess(Protocol):
    """One sequence's cells, for the duration of a hook call."""

    @property
    def length(self) -> int:
        """Positions [0, length) are in memory."""
        ...

    def export(self, start: int, end: int) -> bytes:
        """The cells of positions [start, end), end <= length. Copies; about 1 ms for 10 MB."""
        ...

    def restore(self, end: int, state: bytes | memoryview, keep: int | None = None) -> bool:
        """Append the exported cells of positions [length, end), or only those below ``keep``. False where
        they do not fit this model or this memory; nothing is changed then. Verify your checksum first: damaged
        bytes must not get here. Only ``on_prefill`` may call it, and what is kept must stay below the prompt's
        length."""
        ...

    def cut(self, length: int) -> bool:
        """Keep only positions [0, length), to restore more than that from there on. False, with nothing
        changed, where the model cannot or where memory has no room to compute again what is shared now. Only
        ``on_prefill`` may call it."""
        ...

    @property
    def seconds(self) -> float:
        """How long this call of ``on_prefill`` may take before it delays other users; 0 in other hooks."""
        ...

    def go_on_later(self) -> None:
        """Have ``on_prefill`` called again for this sequence, behind the others' next batch. Only where this
        call has restored something and answers how much."""
        ...

    def wait_for(self, event: threading.Event, seconds: float) -> None:
        """Have ``on_prefill`` called again for this sequence once ``event`` is set, or after so many seconds:
        for what comes from elsewhere. Others are computed meanwhile, this sequence is not, and so it should be
        known to be worth it. Whatever this call answers. Without restoring anything in between a sequence waits
        for no more than a second in all."""
        ...


class Stage(Enum):
    """Why ``persist`` is called."""

    PREFIX = "prefix"
    """The whole prompt is in memory now."""
    END = "end"
    """The generation has ended; all but the last token are in memory."""
