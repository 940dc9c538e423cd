"""Responses of /v1/completions, whole and in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from reame_core.server.generation.logprobs import CompletionLogprobWriter
from reame_core.server.generation.usage import finish_reason, report_of, usage_of
from reame_core.server.wire.responses import Completion, CompletionChoice, ReameReport, Usage

if TYPE_CHECKING:
    from reame_core.engine.events import Finished, TextDelta
    from reame_core.server.generation.outcome import Outcome, Outcomes
    from reame_core.server.generation.preparation import Prepared
    from reame_core.server.generation.reply import Head


def text_completion(head: Head, prepared: Prepared, outcomes: Outcomes) -> Completion:
    """The whole answer."""
    return Completion(
        id=head.id,
        created=head.created,
        model=head.model,
        system_fingerprint=head.system_fingerprint,
        choices=[_choice(head, prepared, index, each) for index, each in enumerate(outcomes.answers())],
        usage=usage_of(outcomes.finished),
        reame=report_of(outcomes.finished, prepared.services.reports()),
    )


def _choice(head: Head, prepared: Prepared, index: int, outcome: Outcome) -> CompletionChoice:
    assert outcome.finished is not None
    logprobs = CompletionLogprobWriter(head.texts, 0).write(outcome.logprobs) if prepared.logprobs else None
    text = _echo(prepared, index) + outcome.text
    return CompletionChoice(index, text, logprobs, finish_reason(outcome.finished))


def _echo(prepared: Prepared, index: int) -> str:
    return prepared.echoes[index // prepared.n] if prepared.echoes else ""


class CompletionChunks:
    """The chunks of one stream."""

    def __init__(self, head: Head, prepared: Prepared) -> None:
        self._head = head
        self._prepared = prepared
        self._usage: UnsetType | None = None if prepared.include_usage else UNSET
        self._begun: set[int] = set()
        self._logprobs: dict[int, CompletionLogprobWriter] = {}

    def delta(self, event: TextDelta) -> list[msgspec.Struct]:
        """The chunks that deliver ``event``."""
        chunks = self._echo(event.choice)
        logprobs = None
        if self._prepared.logprobs:
            writer = self._logprobs.setdefault(event.choice, CompletionLogprobWriter(self._head.texts, 0))
            logprobs = writer.write(event.logprobs)
        if event.text or event.logprobs:
            chunks.append(self._chunk(CompletionChoice(event.choice, event.text, logprobs)))
        return chunks

    def finish(self, event: Finished, report: ReameReport | UnsetType) -> list[msgspec.Struct]:
        """The last chunks of a choice."""
        last = self._chunk(CompletionChoice(event.choice, "", None, finish_reason(event)))
        last.reame = report
        return [*self._echo(event.choice), last]

    def usage(self, usage: Usage, report: ReameReport) -> Completion:
        """The chunk behind all choices."""
        return self._of_head([], usage, report)

    def _echo(self, choice: int) -> list[msgspec.Struct]:
        if choice in self._begun:
            return []
        self._begun.add(choice)
        text = _echo(self._prepared, choice)
        return [self._chunk(CompletionChoice(choice, text))] if text else []

    def _chunk(self, choice: CompletionChoice) -> Completion:
        return self._of_head([choice], self._usage, UNSET)

    def _of_head(
        self,
        choices: list[CompletionChoice],
        usage: Usage | UnsetType | None,
        report: ReameReport | UnsetType,
    ) -> Completion:
        head = self._head
        return Completion(
            id=head.id,
            created=head.created,
            model=head.model,
            system_fingerprint=head.system_fingerprint,
            choices=choices,
            usage=usage,
            reame=report,
        )
