"""A machine on which a batch of any number of rows costs as much as one row: the model computes, the fake
backend's clock tells the time. Drafts from the form of a text against none."""

from __future__ import annotations

from reame_suggeritore import Suggeritore

from bench.case import open_backend
from bench.report import Figure, Result, Target
from bench.speculation.stage import Stage
from bench.suggeritore.forms import PLUGIN
from bench.suggeritore.questions import LISTS, OBJECTS, TABLES
from reame_core.engine.backend import Rows
from reame_core.engine.calibration import measure_batches
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, Failed
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import Request
from reame_core.llama.backend import LlamaBackend
from reame_core.llama.model import WeightBuffers
from reame_core.models.chat_template import ChatTemplate
from reame_core.models.prompt import chat_tokens
from reame_core.plugins.api import PluginContext
from reame_core.testing import FakeClock

CONTEXT, TOKENS = 1024, 420
_FLAT_MS = 100.0


class _Clocked:
    """Makes ``backend`` tell ``clock`` about its batches, for the time that a with statement lasts."""

    def __init__(self, backend: LlamaBackend, clock: FakeClock) -> None:
        self._backend = backend
        self._clock = clock

    def _decode(self, rows: Rows) -> None:
        LlamaBackend.decode(self._backend, rows)
        self._clock.batch(len(rows))

    def __enter__(self) -> None:
        setattr(self._backend, "decode", self._decode)  # noqa: B010 (a method)

    def __exit__(self, *_: object) -> None:
        delattr(self._backend, "decode")


def measure(stage: Stage, result: Result) -> None:
    backend = open_backend(stage.path, stage.threads, WeightBuffers(), 2 * CONTEXT)
    clock = FakeClock(lambda rows: _FLAT_MS)
    plugin = Suggeritore()
    plugin.startup(PluginContext(backend.info, {}, piece=backend.piece, tokenize=backend.tokenize))
    hooks = EngineHooks(propose_draft=GuardedHook(((PLUGIN, plugin.propose_draft),)))
    try:
        with _Clocked(backend, clock):
            for name, question in {"list": LISTS[0], "table": TABLES[0], "objects": OBJECTS[0]}.items():
                plain, drafted = (
                    _seconds(backend, clock, question, stage.size(TOKENS), used)
                    for used in (EngineHooks(), hooks)
                )
                target = Target("≥", 2.1) if name == "list" else None
                result.figures.append(Figure(f"{name}: with / without drafts", plain / drafted, target=target))
    finally:
        backend.close()


def _seconds(backend: LlamaBackend, clock: FakeClock, question: str, tokens: int, hooks: EngineHooks) -> float:
    """What one answer takes by ``clock``."""
    backend.clear()
    engine = Engine(backend, EngineOptions(context_length=CONTEXT), hooks, clock)
    measure_batches(backend, engine.cost, clock)
    template = ChatTemplate.for_model(backend.info)
    prompt = chat_tokens(backend, template, [{"role": "user", "content": question}])
    failures: list[Exception] = []

    def take(events: list[Event]) -> None:
        failures.extend(event.error for event in events if isinstance(event, Failed))

    engine.submit(Request(prompt=prompt, max_tokens=tokens), take)
    started = clock.now
    while not engine.idle:
        engine.step()
    if failures:
        raise failures[0]
    return clock.now - started
