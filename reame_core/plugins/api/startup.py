"""What a plugin is told and given when the engine starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from reame_core.errors import PluginError
from reame_core.plugins.offers import Offers

if TYPE_CHECKING:
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
