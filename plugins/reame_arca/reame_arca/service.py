"""What runs while an engine does: the store, and a layer for each kind of memory that is shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_arca.answers.layer import Answers
from reame_arca.blocks.layer import Blocks
from reame_arca.figures import store_metrics
from reame_arca.generations.layer import Generations
from reame_arca.sealing import Space
from reame_arca.similar.layer import MOST_TOKENS, Similar
from reame_arca.store import Store
from reame_core.errors import ConfigError, UsageError
from reame_core.plugins.api import KnownAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reame_arca.options import Options
    from reame_core.plugins.api import AnsweredChoice, AskAgain, Metric, PluginContext, Question


class Service:
    """``start`` makes one."""

    def __init__(self, options: Options, context: PluginContext, store: Store) -> None:
        self.options = options
        self.context = context
        self.store = store
        self._secret = options.read_secret()
        self.answers = (
            Answers(options, store, self.space, context.namespace, context.model.vocabulary_size)
            if options.answers
            else None
        )
        self.similar = self._similar_questions()
        self.blocks = (
            Blocks(options, store, lambda layer, tenant: self.space(layer, tenant, {}))
            if options.blocks
            else None
        )
        self.generations = Generations(options, store, self.space) if options.generations else None

    @classmethod
    def start(cls, options: Options, context: PluginContext) -> Service:
        """Raises ConfigError. Whether the store answers is found out in the background."""
        store = Store.at(options)
        try:
            service = cls(options, context, store)
        except ConfigError:
            store.close(0)
            raise
        service.store.warm_up()
        if service.blocks is not None:
            service.blocks.attach_to(context.offers)
        if service.generations is not None:
            service.generations.attach_to(context.offers)
        return service

    def close(self) -> None:
        """Write what waits and hang up."""
        if self.similar is not None:
            self.similar.close()
        if self.answers is not None:
            self.answers.close()
        if self.blocks is not None:
            self.blocks.close()
        if self.generations is not None:
            self.generations.close()
        self.store.close()

    def recall(self, question: Question) -> KnownAnswer | AskAgain | None:
        """The answer to the same question, or else to a similar one."""
        answers, similar = self.answers, self.similar
        if answers is None:
            return None
        if similar is None or not similar.knows(question):
            exact = answers.recall(question)
            if exact is not None or similar is None:
                return exact
        found = similar.recall(question)
        if isinstance(found, KnownAnswer):
            # Nothing is computed: whoever waits for that is to go on.
            answers.keep(question, None)
        return found

    def keep(self, question: Question, answer: Sequence[AnsweredChoice] | None) -> None:
        """What was computed, if anything was."""
        name = self.answers.keep(question, answer) if self.answers is not None else None
        if self.similar is not None:
            self.similar.keep(question, answer, name)

    def _similar_questions(self) -> Similar | None:
        """Raises ConfigError for a model that does not serve."""
        options, context = self.options, self.context
        if not options.similar or self.answers is None:
            return None
        try:
            embedder = context.open_embedder(options.similar_model, most_tokens=MOST_TOKENS)
        except UsageError as error:
            raise ConfigError(f"plugins.arca.similar_model: {error}") from None
        return Similar(options, self.store, self.space, self.answers, embedder)

    def space(self, layer: str, tenant: str, scope: Mapping[str, str] | None = None) -> Space:
        """What ``tenant`` has in ``layer``. ``scope`` is everything that its values depend on, by default all
        that KV cells depend on: the model, its build, its settings."""
        return Space(
            self.options.prefix,
            layer,
            self.context.namespace if scope is None else scope,
            tenant,
            self._secret,
        )

    def metrics(self) -> list[Metric]:
        """Of the store and of each layer."""
        return [
            *store_metrics(self.store),
            *(self.answers.metrics() if self.answers is not None else ()),
            *(self.similar.metrics() if self.similar is not None else ()),
            *(self.blocks.metrics() if self.blocks is not None else ()),
            *(self.generations.metrics() if self.generations is not None else ()),
        ]
