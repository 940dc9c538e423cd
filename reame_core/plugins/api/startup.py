"""What a plugin is told and given when the engine starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from reame_core.errors import PluginError
from reame_core.plugins.offers import Offers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reame_core.engine.backend import Backend, ModelInfo
    from reame_core.engine.batch_cost import BatchCost


@dataclass(frozen=True, slots=True)
class SecondModel:
    """A model beside the one that is served, with a KV memory of its own. It belongs to the engine thread, and
    the core closes it after ``shutdown``."""

    backend: Backend
    tokenizer: str
    """See ``PluginContext.tokenizer``."""
    cost: BatchCost
    """Milliseconds by rows of a batch of ``backend``, as measured on this host; tell it what batches took."""


class ModelOpener(Protocol):
    """Loads the model that ``model`` names: a path, or a name of the catalogue. ``threads`` None takes as many
    as the served model has. Raises a UsageError where it cannot be loaded or does not fit in memory."""

    def __call__(
        self, model: str, *, cells: int | None = None, sequences: int = 16, threads: int | None = None
    ) -> SecondModel:
        """With ``cells`` of KV memory, by default as many as the served model has, for ``sequences``."""
        ...


def _no_second_model(
    model: str, *, cells: int | None = None, sequences: int = 16, threads: int | None = None
) -> SecondModel:
    raise PluginError("there is no way to load a second model here")


class Embedder(Protocol):
    """A model that turns texts into vectors, beside the one that is served. It computes on the thread that
    calls it, a text at a time; the core closes it after ``shutdown``."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """Stands for the contents of its file: vectors of different ones cannot be compared."""
        ...

    @property
    def dimension(self) -> int: ...

    def embed(self, text: str) -> NDArray[np.float32] | None:
        """(dimension,) of length 1; None for a text of more tokens than it is made to read. Raises an
        EngineError where it cannot compute."""
        ...


class EmbedderOpener(Protocol):
    """Loads the embedding model that ``model`` names: a path, or a name of the catalogue. Raises a UsageError
    where it cannot be loaded or is none."""

    def __call__(self, model: str, *, most_tokens: int = 256) -> Embedder:
        """For texts of at most ``most_tokens``, and no more than the model was trained for."""
        ...


def _no_embedder(model: str, *, most_tokens: int = 256) -> Embedder:
    raise PluginError("there is no way to load an embedding model here")


@dataclass(frozen=True, slots=True)
class PluginContext:
    """What a plugin is told when the engine starts."""

    model: ModelInfo
    options: Mapping[str, object]
    """The plugin's own table ``[plugins.NAME]`` of the configuration, unchecked."""
    namespace: Mapping[str, str] = field(default_factory=dict)
    """Everything that changes the contents of KV cells: model fingerprint, cache types, build."""
    tokenizer: str = ""
    """Stands for what each token id means: equal for models with the same vocabulary, whatever their weights.
    Empty where that is not known."""
    piece: Callable[[int], bytes] = bytes
    """The bytes that a token adds to a text. Any thread may call it."""
    tokenize: Callable[[str], Sequence[int]] = lambda text: ()
    """The tokens of a text, none of them a control token. Any thread may call it."""
    open_model: ModelOpener = _no_second_model
    """Loads a second model, for ``startup``."""
    offers: Offers = field(default_factory=Offers)
    """What the plugins of this engine offer each other, for ``startup``."""
    open_embedder: EmbedderOpener = _no_embedder
    """Loads an embedding model, for ``startup``."""
