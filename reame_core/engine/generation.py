"""What becomes of a sequence when its rows have been computed: next tokens, text, the end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Backend
from reame_core.engine.bids import Proposal
from reame_core.engine.events import Failed, Finished, FinishReason, TextDelta, Timings, TokenLogprob, Usage
from reame_core.engine.kv_memory import KVMemory
from reame_core.engine.plugin_bridge import PluginBridge
from reame_core.engine.records import Records
from reame_core.engine.sampling import token_logprob
from reame_core.engine.schedule import Part
from reame_core.engine.sequence import Sequence
from reame_core.engine.verification import verify_draft
from reame_core.errors import EngineError
from reame_core.plugins.api import Stage

Lines = NDArray[np.float32]


class Generator:
    """Advances sequences by the logits of a step and ends them."""

    def __init__(
        self,
        backend: Backend,
        memory: KVMemory,
        plugins: PluginBridge,
        records: Records,
        clock: Callable[[], float],
    ) -> None:
        self._backend = backend
        self._memory = memory
        self._plugins = plugins
        self._records = records
        self._clock = clock
        self._end_tokens = backend.info.end_tokens

    def advance(self, part: Part, lines: Lines) -> None:
        """``part`` has been computed; ``lines`` are the logits of its newest known token and of its draft,
        (1 + draft, vocabulary), or empty where the prompt goes on."""
        sequence, slot = part.sequence, part.sequence.slot
        if slot is None:
            raise AssertionError("a sequence without a slot was computed")
        if not part.reaches_the_newest:
            return
        if not sequence.prefix_persisted:
            sequence.prefix_persisted = True
            self._plugins.persist(sequence, Stage.PREFIX)
        if sequence.first_token_at is None:
            sequence.first_token_at = self._clock()
        draft = part.proposal.draft if part.proposal else None
        if sequence.constrained is not None:
            lines = sequence.constrained.masked(lines, draft.tokens if draft else ())
        tokens = self._next_tokens(sequence, part.proposal, lines)
        before = sequence.known
        ended = self._append(sequence, tokens, lines)
        if part.proposal:
            accepted = min(len(tokens) - 1, sequence.known - before)
            drafted_before, accepted_before = sequence.drafts.get(part.proposal.source, (0, 0))
            sequence.drafts[part.proposal.source] = drafted_before + part.drafted, accepted_before + accepted
            self._records.observe(sequence, part.proposal, before, len(tokens) - 1)
        # Cells of rejected tokens, and of accepted ones behind the end of the answer.
        self._memory.truncate(slot, min(part.end + len(tokens) - 1, sequence.known))
        if ended is not None:
            self.finish(sequence, *ended)

    def _next_tokens(self, sequence: Sequence, proposal: Proposal | None, lines: Lines) -> list[int]:
        if proposal is None:
            tokens = [sequence.sampler.choose(lines[0])]
        else:
            draft = proposal.draft
            verdict = self._plugins.verify(sequence, draft, lines)
            verdict = verdict or verify_draft(draft, lines, sequence.sampler)
            tokens = [*draft.tokens[: verdict.accepted], verdict.next_token]
            if proposal.behind is not None and verdict.accepted == len(draft.tokens):
                tokens[-1] = _confirmed(sequence, verdict.next_token, proposal.behind, lines[verdict.accepted])
        if not np.isfinite(lines[np.arange(len(tokens)), tokens]).all():
            raise EngineError("the model computed no finite logits: its file may be damaged")
        sequence.sampler.accept(tokens[-1])
        return tokens

    def _append(
        self, sequence: Sequence, tokens: list[int], lines: Lines
    ) -> tuple[FinishReason, str | int | None] | None:
        """Take ``tokens`` one by one as far as the answer goes; why and by what it ended, if it did."""
        request = sequence.request
        constrained = sequence.constrained
        # Nothing can follow an end token that a constraint has allowed.
        heeds_end = constrained is not None or not request.ignore_end
        ended: tuple[FinishReason, str | int | None] | None = None
        for index, token in enumerate(tokens):
            sequence.append(token)
            ends = (token in self._end_tokens and heeds_end) or token in request.stop_tokens
            if constrained is not None and not ends:
                constrained.accept(token)
            logprob = self._logprob(sequence, lines[index], token)
            if ends:
                ended = "stop", token
            elif sequence.output.push(token, self._backend.piece(token), logprob):
                ended = "stop", sequence.output.stopped_by
            elif constrained is not None and constrained.complete:
                ended = "stop", None
            elif sequence.room == 0:
                ended = "length", None
            if ended is not None:
                break
        self._deliver(sequence, final=ended is not None)
        return ended

    def _logprob(self, sequence: Sequence, line: Lines, token: int) -> TokenLogprob | None:
        request = sequence.request
        if request.logprobs is None and not request.select:
            return None
        result = token_logprob(line, token, request.logprobs or 0)
        sequence.logprob_sum += result.logprob
        return result if request.logprobs is not None else None

    def _deliver(self, sequence: Sequence, *, final: bool) -> None:
        ready = sequence.output.take(final=final)
        if ready is not None:
            sequence.group.emit(TextDelta(sequence.choice, ready.text, ready.tokens, ready.logprobs))

    def finish(self, sequence: Sequence, reason: FinishReason, stopped_by: str | int | None = None) -> None:
        """The sequence ends well, or is cancelled; it may be queued, filling or decoding."""
        now = self._clock()
        slot = sequence.slot
        reused = sum(sequence.reused.values())
        computed = max(0, min(sequence.computed, sequence.prompt_length) - reused)
        if slot is not None:
            self._plugins.persist(sequence, Stage.END)
            self._memory.release(slot)
            sequence.slot = None
        decisions = self._records.decisions(sequence)
        self._records.forget(sequence)
        started = sequence.first_token_at
        sequence.group.emit(
            Finished(
                choice=sequence.choice,
                reason=reason,
                usage=Usage(
                    prompt=sequence.prompt_length,
                    completion=sequence.generated,
                    computed=computed,
                    reused=dict(sequence.reused),
                    drafts=dict(sequence.drafts),
                    decisions=decisions,
                ),
                timings=Timings(
                    queued=1000 * (sequence.admitted_at - sequence.submitted_at),
                    prefill=1000 * ((started or now) - sequence.admitted_at),
                    decode=1000 * (now - started) if started is not None else 0.0,
                ),
                stopped_by=stopped_by,
            )
        )

    def fail(self, sequence: Sequence, error: Exception) -> None:
        """The sequence ends badly: nothing it computed can be trusted."""
        self._records.forget(sequence)
        if sequence.slot is not None:
            self._memory.discard(sequence.slot)
        sequence.group.emit(Failed(sequence.choice, error))


def _confirmed(sequence: Sequence, token: int, drafted: int, line: Lines) -> int:
    """``token``, if that is what the target says in ``line``, or what was ``drafted`` there without a row,
    where a greedy request would have taken it with one."""
    if token == drafted or sequence.request.sampling.temperature > 0:
        return token
    if sequence.sampler.choose(line) != token:
        return token
    return sequence.sampler.confirm(line, drafted)
