"""The draft model in a running server."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from reame_core.config.plugin_options import read_options
from reame_core.errors import ConfigError, UsageError
from reame_core.plugins.api import (
    Draft,
    DraftPrice,
    DraftWish,
    Metric,
    PluginContext,
    Rows,
    Sample,
    SecondModel,
    SequenceView,
)
from reame_draftmodel.compatibility import Speech, check_compatible
from reame_draftmodel.lanes import Lane, Lanes
from reame_draftmodel.options import NAME, DraftModelOptions
from reame_draftmodel.pen import Pen
from reame_draftmodel.trust import Guesses, Trust

_LANES = 32
"""Sequences of the draft model, those of ended ones included."""
CATCH_UP_MS = 150.0
"""Longer than that nobody waits for the draft model to read."""


def start(context: PluginContext) -> Service | None:
    """None without a draft model. Raises ConfigError."""
    options = read_options(NAME, context.options, DraftModelOptions)
    if options.model is None:
        return None
    setting = f"plugins.{NAME}.model"
    try:
        model = context.open_model(
            options.model, cells=options.context_length, sequences=_LANES, threads=options.threads
        )
    except UsageError as error:
        raise ConfigError(f"{setting}: {error}") from None
    draft = Speech(model.backend.info, model.tokenizer, model.backend.piece)
    check_compatible(Speech(context.model, context.tokenizer, context.piece), draft, setting)
    if not model.backend.info.partial_removal:
        raise ConfigError(
            f"{setting}: {draft.info.name} is a recurrent model, which cannot take a token back: choose another"
        )
    return Service(model, context.model.vocabulary_size, options)


class Service:
    """``size`` is the vocabulary of the served model. All methods belong to the engine thread, except
    ``metrics``."""

    def __init__(
        self,
        model: SecondModel,
        size: int,
        options: DraftModelOptions,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        info = model.backend.info
        self._backend = model.backend
        self._cost = model.cost
        self._options = options
        self._size = size
        self._clock = clock
        longest = min(info.kv_cells, info.trained_context)
        self._lanes = Lanes(model.backend, info.kv_cells, longest, _LANES)
        self._trust: defaultdict[tuple[bool, bool], Trust] = defaultdict(Trust)
        """By whether answers are greedy, and whether drafts are drawn: of many likely tokens a given one is
        rarely what is drawn, but a draft drawn from the same distribution is always kept."""
        self._guesses: dict[int, Guesses] = {}
        """The last ones for each sequence."""
        self._vocabulary = info.vocabulary_size
        self._most_rows = info.max_rows
        self._batches = 0
        self._rows = 0
        self._seconds = 0.0

    def price(self, wishes: Sequence[DraftWish]) -> DraftPrice | None:
        """By what batches of the same numbers of rows have taken; None where no sequence fits."""
        served = [wish.sequence for wish in wishes if self._fits(wish)]
        single = self._cost.estimate(len(served)) if served else None
        if single is None:
            return None
        whole, rest = divmod(sum(map(self._lanes.missing, served)), self._most_rows)
        reading = whole * (self._cost.estimate(self._most_rows, silent=self._most_rows) or 0.0)
        reading += (self._cost.estimate(rest, silent=rest - 1) or 0.0) if rest else 0.0
        return DraftPrice(single, max(0.0, reading - single), self._options.max_draft)

    def _fits(self, wish: DraftWish) -> bool:
        """A token that the draft model does not have ends its part in a sequence."""
        tokens = wish.sequence.tokens
        return len(tokens) < self._lanes.longest and int(tokens.max()) < self._vocabulary

    def draft(self, wishes: Sequence[DraftWish]) -> list[Draft | None]:
        """Drafts in the order of ``wishes``; None for a sequence that is too long, or still being read."""
        for wish in wishes:
            self._compare(wish.sequence)
        try:
            written = self._written(wishes)
        except BaseException:
            # Whatever the batch held is undefined now.
            self._lanes.clear()
            raise
        for index, pen in written.items():
            self._guesses[wishes[index].sequence.id] = pen.guesses
        return [written[index].draft if index in written else None for index in range(len(wishes))]

    def _compare(self, sequence: SequenceView) -> None:
        if guesses := self._guesses.pop(sequence.id, None):
            guesses.compare(sequence.tokens)

    def _written(self, wishes: Sequence[DraftWish]) -> dict[int, Pen]:
        lanes = self._with_lanes(wishes)
        ready = self._read(wishes, lanes)
        pens = {index: self._pen(wishes[index]) for index in ready}
        writing = ready
        while writing:
            for index, line in zip(writing, self._backend.logits(), strict=True):
                pens[index].write(line)
            writing = [index for index in writing if not pens[index].done and self._has_room(lanes[index])]
            if writing:
                self._compute([(lanes[index], pens[index].tokens[-1:], True) for index in writing])
        return pens

    def _pen(self, wish: DraftWish) -> Pen:
        options, ends = self._options, self._backend.info.end_tokens
        trust = self._trust[wish.sequence.request.sampling.temperature == 0, wish.drawn]
        return Pen(wish, options.max_draft, options.p_min, trust, self._size, ends)

    def _with_lanes(self, wishes: Sequence[DraftWish]) -> dict[int, Lane]:
        """As many of the wishes as there is room for."""
        self._lanes.begin()
        lanes: dict[int, Lane] = {}
        for index, wish in enumerate(wishes):
            if self._fits(wish):
                ahead = min(wish.limit, self._lanes.longest - len(wish.sequence.tokens))
                lane = self._lanes.take(wish.sequence, ahead)
                if lane is not None:
                    lanes[index] = lane
        return lanes

    def _read(self, wishes: Sequence[DraftWish], lanes: dict[int, Lane]) -> list[int]:
        """Compute what is new of the sequences, in one batch that takes no longer than ``CATCH_UP_MS``; which
        of them are up to date then, in the order of their lines of logits."""
        room = max(2 * len(lanes), self._cost.rows_within(CATCH_UP_MS, self._most_rows, outputs=len(lanes)))
        fresh = {index: wishes[index].sequence.tokens[lane.length :].tolist() for index, lane in lanes.items()}
        parts: list[tuple[Lane, list[int], bool]] = []
        ready = []
        for index in sorted(lanes, key=lambda index: len(fresh[index])):
            part = fresh[index][:room]
            if part:
                parts.append((lanes[index], part, len(part) == len(fresh[index])))
                if parts[-1][2]:
                    ready.append(index)
            room -= len(part)
        if parts:
            self._compute(parts)
        return ready

    def _has_room(self, lane: Lane) -> bool:
        return lane.length < self._lanes.longest

    def _compute(self, parts: Sequence[tuple[Lane, list[int], bool]]) -> None:
        """One batch: tokens for the end of each lane, and logits for the last of them where wanted."""
        rows = Rows()
        for lane, tokens, wanted in parts:
            rows.add(lane.index, lane.length, tokens, logits_from=len(tokens) - wanted)
        started = self._clock()
        self._backend.decode(rows)
        spent = self._clock() - started
        for lane, tokens, _ in parts:
            self._lanes.extend(lane, tokens)
        self._cost.observe(len(rows), 1000 * spent, silent=len(rows) - rows.outputs)
        self._batches += 1
        self._rows += len(rows)
        self._seconds += spent

    def end(self, sequence: SequenceView) -> None:
        """The sequence has ended."""
        self._compare(sequence)
        self._lanes.end(sequence.id)

    def metrics(self) -> Sequence[Metric]:
        """For Prometheus."""
        return (
            Metric("batches", "Batches of the draft model.", "counter", [Sample(self._batches)]),
            Metric("rows", "Rows of these batches.", "counter", [Sample(self._rows)]),
            Metric("seconds", "Time they took.", "counter", [Sample(self._seconds)]),
            Metric("cells_used", "Tokens in the draft model's KV memory.", "gauge", [Sample(self._lanes.held)]),
        )
