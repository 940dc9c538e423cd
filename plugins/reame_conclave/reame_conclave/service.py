"""The plugin at work for one engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reame_conclave.ballot import Ballot
from reame_conclave.options import FIELD, ConclaveOptions, read_rules
from reame_conclave.plugin import NAME
from reame_conclave.report import headers, notes, report
from reame_conclave.rules import Rules, samplings
from reame_conclave.votes import Votes
from reame_core.config.plugin_options import read_options
from reame_core.errors import ConfigError, InvalidRequest
from reame_core.plugins.api import FieldService

if TYPE_CHECKING:
    from reame_core.engine.request import Request, SamplingParams
    from reame_core.plugins.api import ApiRequest, Draft, Group, SequenceView


class Service:
    """``table`` is ``[plugins.conclave]``. Raises ConfigError."""

    def __init__(self, table: Mapping[str, object]) -> None:
        self._options = read_options(NAME, table, ConclaveOptions)
        try:
            read_rules({}, self._options)
        except InvalidRequest as error:
            raise ConfigError(str(error).replace(FIELD, f"plugins.{NAME}")) from None
        self.votes = Votes()

    def serve(self, request: ApiRequest) -> FieldService | None:
        """``reame.conclave``. Raises InvalidRequest."""
        wanted = request.fields.get(FIELD)
        return None if wanted is None else Contest(read_rules(wanted, self._options)).service()

    def judge(self, group: Group) -> int | None:
        """See ``select_winner``."""
        ballot = group.request.extra.get(NAME)
        if not isinstance(ballot, Ballot):
            return None
        winner = ballot.judge(group)
        if winner is not None:
            self.votes.count(ballot)
        return winner

    def propose(self, sequence: SequenceView, limit: int) -> Draft | None:
        """See ``propose_draft``."""
        ballot = sequence.request.extra.get(NAME)
        if not isinstance(ballot, Ballot) or ballot.rules.candidates == 1:
            return None
        ballot.siblings.hear(sequence.choice, sequence.tokens[sequence.prompt_length :].tolist())
        return ballot.siblings.propose(sequence.choice, limit)


class Contest:
    """The votes of one request: one for each of its prompts, all by the same rules."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.ballots: list[Ballot] = []
        self._samplings: tuple[SamplingParams, ...] = ()

    def service(self) -> FieldService:
        """What the core is to do for it."""
        return FieldService(
            fields=frozenset({FIELD}),
            extra_for_prompt=self.new_ballot,
            candidates=self.rules.candidates,
            sampling=self.sampling,
            wave=self.rules.wave,
            report=lambda: report(self.ballots),
            headers=lambda: headers(self.ballots),
            notes=lambda: notes(self.ballots),
        )

    def applied_to(self, request: Request) -> Request:
        """``request`` as a vote, for callers without the HTTP server's or the command line's help."""
        return replace(
            request,
            n=self.rules.candidates,
            sampling_by_choice=tuple(self.sampling(request.sampling)),
            select=True,
            wave=self.rules.wave,
            extra={**request.extra, NAME: self.new_ballot()},
        )

    def sampling(self, wanted: SamplingParams) -> Sequence[SamplingParams]:
        """How the candidates are sampled."""
        self._samplings = tuple(samplings(self.rules, wanted))
        return self._samplings

    def new_ballot(self) -> Ballot:
        """The vote of the next prompt."""
        self.ballots.append(Ballot(self.rules, self._samplings))
        return self.ballots[-1]
