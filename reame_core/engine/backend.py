"""The seam between the engine and whatever computes: llama.cpp, or the fake of ``reame_core.testing``.

A backend holds one KV memory of ``info.kv_cells`` cells. A cell keeps one token at one position for a
set of sequences; sequences are numbered from 0 to ``info.max_sequences - 1``. The engine decides who
may use which sequence and how many cells; a backend only obeys.

All methods belong to the engine thread, except ``tokenize``, ``piece`` and ``info``, which any thread
may use at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the engine and the command line need to know of a loaded model."""

    name: str
    vocabulary_size: int
    trained_context: int
    """Tokens of context the model was trained for."""
    kv_cells: int
    """Cells of KV memory, shared by all sequences."""
    max_sequences: int
    """Sequence numbers there are; see ``usable_sequences``."""
    max_rows: int
    """Rows one ``decode`` accepts."""
    max_outputs: int = 64
    """Rows of one ``decode`` that may want logits."""
    bos: int | None = None
    adds_bos: bool = False
    """Whether the model wants ``bos`` before every prompt."""
    end_tokens: frozenset[int] = frozenset()
    """Tokens that end a generation (end of sequence, end of turn, ...)."""
    special_tokens: dict[str, int] = field(default_factory=dict)
    """Control tokens by their text, such as ``<|im_end|>``: never to be read out of user text."""
    chat_template: str | None = None
    eos_text: str = ""
    bos_text: str = ""
    partial_removal: bool = True
    """False for recurrent and hybrid models: a sequence is kept whole, continued or dropped."""
    window: int = 0
    """Sliding attention window in tokens, 0 without one."""
    fill_in_middle: tuple[int, int, int] | None = None
    """The control tokens before the text before, before the text after, and before the middle; None for
    models that were not trained to fill in."""
    vocabulary_type: str = ""
    """How text is cut into tokens, for people: BPE, SPM, ..."""
    threads: int = 1
    description: str = ""
    """For people: architecture, size and quantisation."""

    @property
    def usable_sequences(self) -> int:
        """The engine keeps sequences in this many. Of the two numbers above them the first holds retired cells,
        the second is scratch: for export and import, and for the padding of exact batches."""
        return self.max_sequences - 2

    @property
    def scratch(self) -> int:
        return self.max_sequences - 1


class Rows:
    """The rows of one batch: parallel lists, one entry a row, in the order they are computed.

    Rows of one sequence follow each other with ascending positions, starting at the number of cells the
    sequence already has.
    """

    __slots__ = ("outputs", "positions", "sequences", "tokens", "wanted")

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.positions: list[int] = []
        self.sequences: list[int] = []
        self.wanted: list[bool] = []
        self.outputs = 0

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, sequence: int, position: int, tokens: list[int], *, logits_from: int) -> int:
        """Append ``tokens`` at ``position`` and later; rows from index ``logits_from`` on (0 is the first
        of ``tokens``) yield logits. Returns the index of the first of these in ``Backend.logits()``."""
        n = len(tokens)
        first = self.outputs
        self.tokens += tokens
        self.positions += range(position, position + n)
        self.sequences += [sequence] * n
        self.wanted += [False] * logits_from
        self.wanted += [True] * (n - logits_from)
        self.outputs += n - logits_from
        return first


class OutOfCells(Exception):
    """``decode`` found no free cells; nothing was computed."""


class Interrupted(Exception):
    """``decode`` was told to stop; the cells are as before it."""


class Backend(Protocol):
    """See the module's docstring for ownership and threads."""

    @property
    def info(self) -> ModelInfo: ...

    def tokenize(self, text: str, *, parse_special: bool = False) -> list[int]:
        """The tokens of ``text``, without any automatic beginning or end token.

        With ``parse_special`` the texts of control tokens become those tokens; user text is always
        tokenized without.
        """
        ...

    def piece(self, token: int) -> bytes:
        """The bytes that ``token`` adds to a text: possibly part of a character, empty for control tokens."""
        ...

    def decode(self, rows: Rows) -> None:
        """Compute all ``rows`` in one batch, each attending to its own sequence's cells before it.

        Raises OutOfCells before anything is computed, Interrupted, or EngineError when computing failed,
        after which the cells of the sequences in the batch are undefined and have to be removed.
        """
        ...

    def interrupt(self) -> None:
        """Let a ``decode`` that is running now raise Interrupted soon: within one operation of one layer. Any
        thread may call it; without a running ``decode`` it has no effect. Only with ``partial_removal``."""
        ...

    def use_threads(self, count: int) -> None:
        """Compute with ``count`` threads from now on, 1 to ``info.threads``. Results may differ in their last
        bits."""
        ...

    def logits(self) -> NDArray[np.float32]:
        """(outputs, vocabulary) of the last ``decode``, one line for each row that wanted logits.
        A view: valid until the next ``decode``, not to be written to."""
        ...

    def copy(self, source: int, target: int, length: int) -> None:
        """Let the empty sequence ``target`` share the first ``length`` cells of ``source``.
        Without ``partial_removal`` only the whole of ``source`` can be copied."""
        ...

    def truncate(self, sequence: int, length: int) -> bool:
        """Drop all cells of ``sequence`` at position ``length`` and later. False, with nothing changed,
        where the model cannot (see ``partial_removal``); ``length`` 0 always works."""
        ...

    def retire(self, sequence: int, length: int) -> None:
        """As ``truncate``, but the cells that nobody else holds stay occupied until ``reclaim``, so that no row
        is put there. Only with ``partial_removal``."""
        ...

    def reclaim(self) -> None:
        """Free all retired cells."""
        ...

    def covers(self, sequence: int, length: int) -> bool:
        """Whether every position below ``length`` of ``sequence`` is still in memory (a sliding window
        may have lost early ones)."""
        ...

    def export_range(self, sequence: int, start: int, end: int) -> bytes:
        """The cells of positions ``start`` to ``end`` (exclusive) of ``sequence``, for ``import_range`` on
        the same model with the same cache types. Cells are copied, nothing is changed."""
        ...

    def import_range(
        self, sequence: int, start: int, end: int, state: bytes | memoryview, keep: int | None = None
    ) -> bool:
        """Append cells made by ``export_range`` to ``sequence``, which has exactly ``start`` cells: all of
        them, or those below position ``keep``; room for all is needed while it works.
        False where the state does not fit; the sequence is then as before. The caller has verified the
        checksum of ``state``: llama.cpp must never see damaged bytes."""
        ...

    def clear(self) -> None:
        """Drop every cell of every sequence."""
        ...

    def close(self) -> None:
        """Free the model. No method may be called afterwards."""
        ...
