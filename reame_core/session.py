"""From a model's name and settings to an engine that takes requests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from reame_core.config import Settings
from reame_core.engine.backend import ModelInfo
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.event_stream import EventStream
from reame_core.engine.exactness import ExactShapes
from reame_core.engine.noise import LAST_SMALL_BATCH, KernelNoise
from reame_core.engine.request import Request
from reame_core.engine.worker import EngineWorker
from reame_core.errors import ConfigError
from reame_core.host.cpu import ThreadChoice, clamp_threads, threads_to_try
from reame_core.host.memory import KVPlan, available_memory, kv_plan, mlock_problem
from reame_core.host.neighbours import Neighbours
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.llama.passing_thread import in_passing_thread
from reame_core.llama.trials import Setup
from reame_core.measurements import HostMeasurements
from reame_core.models.catalogue import ResolvedModel, open_catalogue, resolve
from reame_core.models.catalogue.needs import USUAL_CONTEXT
from reame_core.models.chat_template import ChatTemplate
from reame_core.models.gguf import GgufHeader, kv_bytes_per_token, number, read_header, tokenizer_digest
from reame_core.models.prompt import chat_tokens, raw_tokens
from reame_core.plugins.api import PluginContext
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import EVERYTHING, PluginSelection
from reame_core.second_model import SecondModels

log = logging.getLogger("reame.session")

_PADDING_CELLS = 8
"""Beside the promised cells: room for the padding rows of exact batches."""


class Session:
    """A loaded model with its plugins and its engine's thread. Use ``open_session``."""

    def __init__(
        self,
        worker: EngineWorker,
        plugins: PluginManager,
        template: ChatTemplate,
        description: Mapping[str, object],
    ) -> None:
        self.worker = worker
        self.plugins = plugins
        self.template = template
        self.description = description
        """For people: what was chosen, such as threads, buffers, cells."""

    @property
    def info(self) -> ModelInfo:
        return self.worker.engine.backend.info

    def chat_tokens(self, messages: list[dict[str, object]]) -> tuple[int, ...]:
        """The prompt for a conversation, by the model's own chat template."""
        return chat_tokens(self.worker.engine.backend, self.template, messages)

    @property
    def chat_stops(self) -> tuple[str, ...]:
        """Texts that end an answer to ``chat_tokens`` where the template in use has no token for that."""
        return self.template.stops

    def raw_tokens(self, text: str) -> tuple[int, ...]:
        """The prompt for a text to be continued as it is."""
        return raw_tokens(self.worker.engine.backend, text)

    def stream(self, request: Request) -> EventStream:
        """The events of ``request``; closing the stream cancels it."""
        return self.worker.stream(request)


@contextmanager
def open_session(
    settings: Settings,
    model: str,
    *,
    parallel: int | None = None,
    progress: Callable[[str], None] = lambda line: None,
    selection: PluginSelection = EVERYTHING,
) -> Iterator[Session]:
    """Load ``model`` (a catalogue name or a path) and run its engine until the context ends.

    ``parallel`` overrides ``engine.parallel``; ``progress`` is told in a line what takes a while. Raises a
    UsageError for whatever the user can mend.
    """
    with ExitStack() as cleanup:
        plugins = PluginManager(selection, builtins=BUILT_IN_PLUGINS)
        catalogue = open_catalogue(settings.values.model, plugins.hook("register_models").answers)
        plan = _plan(settings, resolve(model, catalogue), parallel)
        owners = plugins.check_tables(settings.values.plugins.tables)
        host = HostMeasurements(settings, plan.model.path, plan.header, plan.thread_numbers(settings), progress)
        setup = host.setup
        progress(f"loading {plan.model.name} ({plan.header.file_size / 1e6:.0f} MB)")
        options = plan.llama_options(settings, setup)
        backend = in_passing_thread(lambda: LlamaBackend(plan.model.path, options, name=plan.model.name))
        cleanup.callback(backend.close)
        exact = host.exact_shapes(backend) if settings.values.engine.exact else None

        second_models = SecondModels(
            settings, catalogue, backend.info.kv_cells, setup.threads, cleanup, progress
        )

        def context_for(plugin: str) -> PluginContext:
            tables = settings.values.plugins.tables
            options = next((tables[table] for table, owner in owners.items() if owner == plugin), {})
            return PluginContext(
                backend.info,
                options,
                host.namespace(),
                tokenizer_digest(plan.header),
                backend.piece,
                backend.tokenize,
                second_models.open,
                open_embedder=second_models.open_embedder,
            )

        plugins.startup(context_for)
        cleanup.callback(plugins.shutdown)
        hooks = plugins.engine_hooks()
        drafts = bool(hooks.propose_draft or hooks.compute_drafts)
        speculates = drafts and settings.values.engine.max_draft > 0
        noise = host.kernel_noise(backend) if speculates and exact is None else KernelNoise()
        engine = Engine(backend, plan.engine_options(settings, exact, noise), hooks)
        host.recall_costs(backend, engine.cost, measure=speculates or plan.parallel > 1)
        cleanup.callback(lambda: host.keep_costs(engine.threads.quiet_cost))
        worker = EngineWorker(engine, queue_limit=settings.values.engine.queue)
        cleanup.callback(worker.close)
        info = backend.info
        template = ChatTemplate.for_model(info)
        description = {
            "model": info.description,
            "threads": plan.threads_described(setup),
            "context": f"{plan.context} tokens, {plan.parallel} at once, {info.kv_cells} KV cells",
            "kv cache type": settings.values.model.kv_cache_type,
            "weight buffers": setup.buffers.label,
            "flash attention": "on" if setup.flash_attention else "off",
            "noise floor": f"{noise.floor:.2f} logits" if noise.floor else "0",
            "exact": f"{exact.least} to {exact.most} rows a batch" if exact else "off",
        }
        if template.note:
            description["chat template"] = template.note
        yield Session(worker, plugins, template, description)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What will be loaded and how large; made from the file's header, before any weight is read."""

    model: ResolvedModel
    header: GgufHeader
    context: int
    parallel: int
    memory: KVPlan
    threads: ThreadChoice

    @property
    def keeps_positions(self) -> bool:
        """By the header: recurrent and hybrid models carry the sizes of their state there."""
        prefix = f"{self.header.architecture}."
        return not any(key.startswith((prefix + "ssm.", prefix + "wkv.")) for key in self.header.metadata)

    def thread_numbers(self, settings: Settings) -> list[int]:
        """Numbers of threads to choose from, the usual one first."""
        return [self.threads.threads] if settings.values.model.threads else threads_to_try(self.threads)

    def threads_described(self, setup: Setup) -> str:
        """For people: how many, and why."""
        if setup.threads == self.threads.threads:
            return f"{setup.threads} ({self.threads.why})"
        return f"{setup.threads} (faster here than {self.threads.threads}, as tried)"

    def llama_options(self, settings: Settings, setup: Setup) -> LlamaOptions:
        values = settings.values
        # A recurrent sequence costs its whole state, used or not.
        residents = values.engine.resident if self.keeps_positions else self.parallel
        return LlamaOptions(
            kv_cells=self.memory.cells + (_PADDING_CELLS if values.engine.exact else 0),
            threads=setup.threads,
            max_sequences=min(self.parallel + residents + 2, 256),
            max_rows=values.engine.max_rows,
            max_outputs=self.parallel + values.engine.max_draft,
            kv_type=values.model.kv_cache_type,
            flash_attention=setup.flash_attention,
            mmap=values.model.mmap,
            mlock=values.model.mlock,
            buffers=setup.buffers,
        )

    def engine_options(
        self, settings: Settings, exact: ExactShapes | None, noise: KernelNoise
    ) -> EngineOptions:
        values = settings.values.engine
        return EngineOptions(
            context_length=self.context,
            parallel=self.parallel,
            stall_ms=values.stall_ms,
            max_rows=values.max_rows,
            residents=values.resident,
            max_draft=values.max_draft,
            exact=exact,
            busy_cores=Neighbours().busy_cores if values.adapt_threads and exact is None else None,
            noise_floor=noise.floor,
            draft_rows=LAST_SMALL_BATCH if noise.small_agree else values.max_rows,
            ends_in_small_batches=noise.small_agree and noise.floor > 0,
        )


def _plan(settings: Settings, resolved: ResolvedModel, parallel: int | None) -> _Plan:
    values = settings.values
    header = read_header(resolved.path)
    trained = number(header, "{arch}.context_length") or USUAL_CONTEXT
    context = values.model.context_length or min(trained, USUAL_CONTEXT)
    if context > trained:
        log.warning("context_length %d is more than the %d the model was trained for", context, trained)
    at_once = parallel or values.engine.parallel
    if values.engine.kv_cells is not None and values.engine.kv_cells < context:
        raise ConfigError(
            f"engine.kv_cells is {values.engine.kv_cells}, less than the {context} of one context: raise it or "
            "lower model.context_length"
        )
    memory = kv_plan(
        bytes_per_token=kv_bytes_per_token(header, values.model.kv_cache_type),
        model_bytes=header.file_size,
        context_length=context,
        parallel=at_once,
        wanted_cells=values.engine.kv_cells,
        available=available_memory(),
        weights_mapped=values.model.mmap and not values.model.mlock,
    )
    unlocked = mlock_problem(header.file_size) if values.model.mlock else None
    for warning in filter(None, (memory.warning, unlocked)):
        log.warning("%s", warning)
    return _Plan(resolved, header, context, at_once, memory, clamp_threads(values.model.threads))
