"""The engine: one batch a step over all sequences. Not thread-safe; see ``worker`` for its thread."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from reame_core.engine.admission import Admission
from reame_core.engine.attention import attended
from reame_core.engine.backend import Backend, Interrupted, OutOfCells, Rows
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.computed_drafts import ComputedDrafts
from reame_core.engine.constraining import constraints_of
from reame_core.engine.events import Failed
from reame_core.engine.exactness import ExactShapes
from reame_core.engine.generation import Generator
from reame_core.engine.group import RequestGroup, Sink
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.kv_memory import KVMemory
from reame_core.engine.noise import LAST_SMALL_BATCH
from reame_core.engine.padding import Padding
from reame_core.engine.plugin_bridge import PluginBridge
from reame_core.engine.records import Records
from reame_core.engine.request import Request
from reame_core.engine.restoring import Restoring
from reame_core.engine.schedule import Part, Scheduler
from reame_core.engine.sequence import Sequence
from reame_core.engine.speculation import Speculation
from reame_core.engine.threads import Threads
from reame_core.errors import ConfigError, ContextLengthExceeded, EngineError, InvalidRequest

log = logging.getLogger("reame.engine")

SPARED_S = 2.0
"""Seconds between two batches that others share and that end early because somebody cancels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How much at once. ``context_length`` is the longest prompt plus answer of one choice, in tokens."""

    context_length: int
    parallel: int = 4
    stall_ms: float = 200.0
    max_rows: int = 512
    residents: int = 32
    max_draft: int = 64
    """Tokens in one draft; 0 for no drafts."""
    price_drafts: bool = True
    """False gives every draft its rows, paying or not: for tests."""
    noise_floor: float = 0.0
    """Logits within which a greedy request takes a drafted token for the best; see ``noise``."""
    draft_rows: int = LAST_SMALL_BATCH
    """Rows of a batch to which drafts may still be added: more only where small batches are not
    bit-identical."""
    ends_in_small_batches: bool = False
    """Whether the last row of a prompt is computed in a batch of up to ``draft_rows`` rows; see
    ``schedule``."""
    busy_cores: Callable[[], float | None] | None = None
    """Tells how many processors other processes use, so that the number of threads can follow; see ``threads``.
    None for always the same number."""
    exact: ExactShapes | None = None
    """Only batches of these shapes, whose rows are bit-identical; None for any shape."""


class Engine:
    """Requests go in by ``submit``, ``step`` computes one batch, events come out through each sink."""

    def __init__(
        self,
        backend: Backend,
        options: EngineOptions,
        hooks: EngineHooks | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        info = backend.info
        self.options = options
        self.backend = backend
        self.cost = BatchCost()
        spare = options.exact.least if options.exact else 0
        self.memory = KVMemory(backend, options.residents, strict=options.exact is not None, spare=spare)
        if options.context_length > self.memory.ledger.capacity:
            raise ConfigError(
                f"a context of {options.context_length} tokens needs as many cells of KV memory, "
                f"there are {info.kv_cells}"
            )
        if options.parallel > info.usable_sequences:
            raise ConfigError(
                f"parallel is {options.parallel}, the model was loaded for {info.usable_sequences} sequences"
            )
        self._clock = clock
        self._plugins = PluginBridge(hooks or EngineHooks(), backend, self.memory)
        self._restoring = Restoring(self._plugins, options.stall_ms, clock)
        self._admission = Admission(self.memory, options.parallel)
        self.records = Records()
        computed = ComputedDrafts(
            self._plugins.computing_sources,
            self._plugins.price_drafts,
            self._plugins.compute_drafts,
            self.cost,
            self.records,
            clock,
            priced=options.price_drafts,
        )
        self.speculation = Speculation(
            self._plugins.draft_sources,
            self._plugins.propose_draft,
            self.cost,
            options.max_draft,
            self.records,
            computed,
            clock,
            priced=options.price_drafts,
        )
        self._generator = Generator(backend, self.memory, self._plugins, self.records, clock)
        most = min(options.max_rows, info.max_rows)
        if options.exact is not None:
            most = min(most, options.exact.most)
        self._scheduler = Scheduler(
            self.cost,
            most,
            options.stall_ms,
            info.max_outputs,
            min(most, options.draft_rows),
            options.ends_in_small_batches,
            whole_prompts=info.partial_removal,
        )
        self.threads = Threads(
            info.threads,
            backend.use_threads,
            options.busy_cores,
            self.cost,
            clock,
        )
        answer_rows = options.draft_rows if options.ends_in_small_batches else None
        self._padding = Padding(backend, self.cost, options.exact, answer_rows)
        self._groups: list[RequestGroup] = []
        self._computing: Counter[RequestGroup] = Counter()
        """Rows of the batch under way, by who wants them."""
        self._spared_until = -math.inf
        """When a batch that several share may be interrupted again."""
        self._turn = 0
        self._numbers = 0
        self.steps = 0

    def submit(self, request: Request, sink: Sink) -> RequestGroup:
        """Queue ``request``. Raises InvalidRequest for what can never be served here. Where its constraint
        cannot be made the request fails at once."""
        self.check(request)
        group = RequestGroup(request, sink)
        info = self.backend.info
        try:
            constraints = constraints_of(request, group.choices, info.vocabulary_size, info.end_tokens)
        except EngineError as error:
            for choice in range(group.choices):
                group.emit(Failed(choice, error))
            group.flush()
            return group
        length = len(request.prompt)
        limit = self.options.context_length
        if request.max_tokens is not None:
            limit = min(limit, length + request.max_tokens)
        now = self._clock()
        for choice, constrained in enumerate(constraints):
            self._numbers += 1
            sequence = Sequence(self._numbers, group, choice, limit, now, self.options.noise_floor, constrained)
            group.sequences.append(sequence)
        self._groups.append(group)
        self._start_wave(group)
        return group

    def _start_wave(self, group: RequestGroup) -> None:
        for sequence in group.next_wave():
            self._admission.submit(sequence)

    def check(self, request: Request) -> None:
        """Raise InvalidRequest for what can never be served here. Any thread may call it."""
        size = self.backend.info.vocabulary_size
        if len(request.prompt) >= self.options.context_length:
            raise ContextLengthExceeded(len(request.prompt), self.options.context_length)
        if min(request.prompt) < 0 or max(request.prompt) >= size:
            raise InvalidRequest(f"the prompt holds token ids outside 0 to {size - 1}", param="prompt")
        biased = [sampling.logit_bias for sampling in (request.sampling, *request.sampling_by_choice)]
        for token in chain.from_iterable(biased):
            if token >= size:
                raise InvalidRequest(
                    f"logit_bias names token {token}, the vocabulary ends at {size - 1}", param="logit_bias"
                )

    def cancel(self, group: RequestGroup) -> None:
        """Stop all choices of ``group`` that still run; their last event says ``cancelled``."""
        group.cancelled = True
        for sequence in group.sequences:
            self._stop(sequence)
        self._close_done_groups()

    def interrupt(self, group: RequestGroup) -> None:
        """Let the batch under way end early where it computes mostly for ``group``, which is about to be
        cancelled. What others have in it is computed again: they lose a part of a batch, and not more often
        than every ``SPARED_S`` seconds, however many requests come and go. Any thread may call it."""
        computing = self._computing
        if 2 * computing[group] <= computing.total() or not self.backend.info.partial_removal:
            return
        now = self._clock()
        if len(computing) > 1:
            if now < self._spared_until:
                return
            self._spared_until = now + SPARED_S
        self.backend.interrupt()

    def cancel_all(self) -> None:
        """Cancel every request."""
        for group in list(self._groups):
            self.cancel(group)

    def fail_all(self, error: Exception) -> None:
        """Every request ends with ``error`` and nothing is remembered: the way out of an unknown state."""
        self._admission.clear()
        for group in self._groups:
            for sequence in group.sequences:
                self.records.forget(sequence)
                if not group.ended(sequence.choice):
                    group.emit(Failed(sequence.choice, error))
            group.flush()
        self._groups = []
        self.memory.reset()

    def _stop(self, sequence: Sequence) -> None:
        if sequence.slot is not None:
            self._generator.finish(sequence, "cancelled")
        elif not sequence.group.ended(sequence.choice):
            self._admission.remove(sequence)
            sequence.admitted_at = self._clock()
            self._generator.finish(sequence, "cancelled")

    @property
    def waiting(self) -> int:
        """Choices that are queued."""
        return self._admission.queued

    @property
    def places(self) -> int:
        """How many more choices could run now, if there is room in memory. Any thread may ask."""
        return self.options.parallel - len(self.memory.active)

    @property
    def running(self) -> list[Sequence]:
        """Choices that have a slot, in the order in which they came."""
        holders = [slot.holder for slot in self.memory.active if slot.holder is not None]
        return sorted(holders, key=lambda s: s.id)

    @property
    def idle(self) -> bool:
        return not self._groups

    def step(self) -> bool:
        """Admit, compute one batch, deliver its events. False where there was nothing to do."""
        self._admission.put_away()
        for sequence in self._admission.admit():
            sequence.admitted_at = self._clock()
            self._restoring.begin(sequence)
        self._restoring.step()
        running = [sequence for sequence in self.running if sequence not in self._restoring]
        if not running:
            self._restoring.rest()
            return bool(self._restoring)
        self.steps += 1
        self._turn += 1
        turn = self._turn % len(running)
        drafts = self.speculation.choose
        parts = self._scheduler.plan(running[turn:] + running[:turn], drafts, self.memory.rejectable)
        if self._compute(parts):
            self._advance(parts)
        self._judge_groups()
        self._close_done_groups()
        return True

    def _compute(self, parts: list[Part]) -> bool:
        """Decode the rows of ``parts``; where that fails, its sequences fail and all others go on."""
        rows = Rows()
        for part in parts:
            tokens = part.sequence.buffer[part.start : part.end].tolist()
            first_wanted = len(tokens) - 1 if part.reaches_the_newest else len(tokens)
            if part.proposal:
                tokens += part.proposal.draft.tokens
            slot = part.sequence.slot
            assert slot is not None
            rows.add(slot.index, part.start, tokens, logits_from=first_wanted)
        reads = attended((part.rows, part.start) for part in parts)
        self._padding.add(rows, self.memory.free_cells, reads)
        computing: Counter[RequestGroup] = Counter()
        for part in parts:
            computing[part.sequence.group] += part.rows
        self._computing = computing
        started = self._clock()
        try:
            try:
                self.backend.decode(rows)
            except OutOfCells:
                if not self.memory.forget_residents():
                    raise
                self.backend.decode(rows)
        except Interrupted:
            return False
        except Exception as error:
            self._fail(parts, error)
            return False
        finally:
            self._computing = Counter()
            self._padding.drop(rows)
        taken = 1000 * (self._clock() - started)
        silent = len(rows) - rows.outputs
        self.cost.observe(len(rows), taken, len(parts), reads, silent)
        self.threads.observe(len(rows), taken, reads, silent)
        self.memory.computed([(part.sequence.slot, part.rows) for part in parts if part.sequence.slot])
        return True

    def _fail(self, parts: list[Part], error: Exception) -> None:
        log.error("a batch of %d rows failed: %s", sum(p.rows for p in parts), error)
        shown = error if isinstance(error, EngineError) else EngineError(f"computing failed: {error}")
        for part in parts:
            self._generator.fail(part.sequence, shown)

    def _advance(self, parts: list[Part]) -> None:
        logits = self.backend.logits()
        line = 0
        for part in parts:
            wanted = 0
            if part.reaches_the_newest:
                wanted = 1 + part.drafted
            try:
                self._generator.advance(part, logits[line : line + wanted])
            except Exception as error:
                if not isinstance(error, EngineError):
                    log.exception("sequence %d failed", part.sequence.id)
                self._fail([part], error)
            line += wanted

    def _judge_groups(self) -> None:
        for group in self._groups:
            if group.to_judge and not group.cancelled:
                group.judged(self._plugins.select_winner(group))
                if group.winner is not None:
                    for sequence in group.sequences:
                        self._stop(sequence)
            self._start_wave(group)

    def _close_done_groups(self) -> None:
        for group in self._groups:
            if not group.flush():
                for sequence in group.sequences:
                    self._stop(sequence)
                group.flush()
        self._groups = [group for group in self._groups if not group.done]
