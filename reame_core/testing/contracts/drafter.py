"""The contract of plugins with ``propose_draft``, or with ``price_drafts`` and ``compute_drafts``."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reame_core.engine.request import Request, SamplingParams
from reame_core.testing.contracts.damage import Damage, flip_a_bit, truncate
from reame_core.testing.contracts.draws import FEWEST_DRAWS, check_draws
from reame_core.testing.contracts.laws import (
    BrokenLaw,
    MakePlugin,
    Step,
    check_answers,
    check_failures,
    for_all,
    play,
    schedules,
    served,
    started,
)
from reame_core.testing.contracts.witness import DraftWitness
from reame_core.testing.driving import prompt_of, run
from reame_core.testing.fake_backend import FakeBackend

MakeModel = Callable[[], FakeBackend]

_SAID_TWICE = prompt_of("the cat sat on the mat, the cat sat on the rug, 1. red 2. blue, the cat")
_MOST_ROUNDS = 40


def check_drafter(
    make: MakePlugin,
    *,
    name: str = "checked",
    options: Mapping[str, object] | None = None,
    folder_option: str | None = None,
    damages: Sequence[Damage] = (flip_a_bit, truncate),
    second_model: MakeModel | None = None,
    fields: Mapping[str, object] | None = None,
    examples: int = 40,
) -> None:
    """Drive the drafter that ``make`` makes through ``examples`` schedules of requests. Raises BrokenLaw where

    - an answer differs from the one without it, greedy or seeded, alone or among others, cancelled or not,
      and again after a restart;
    - it raises;
    - what it answers is no draft: tokens that the vocabulary has not, more than were asked for, a confidence
      that is no probability, distributions that do not fit the tokens or come where none may be drawn from;
    - it draws tokens that do not follow the distributions it says it drew from, or drops them by what was
      drawn: sampled answers would not keep their distribution;
    - what it computes is no list of a draft for each wish, or has no sound price;
    - it writes into the tokens it is shown;
    - what one tenant was told is proposed to another;
    - files that were damaged between two runs change an answer, or make it raise.

    ``name`` is what the plugin is called, ``options`` is its table. ``folder_option`` is the option that says
    where it keeps its files, for drafters that have some; ``damages`` happen there. ``second_model`` makes the
    model that ``context.open_model`` opens. ``fields`` are those that each request comes with, as for a client
    of ``serve_fields``.
    """
    with tempfile.TemporaryDirectory() as place:
        check = _Check(make, name, dict(options or {}), folder_option, second_model, dict(fields or {}), place)
        choices = (1,) if fields else (1, 1, 1, 2)
        for parallel in (1, 3):

            def one(schedule: Sequence[Step], parallel: int = parallel) -> None:
                check.schedule(schedule, parallel)

            for_all(schedules(choices=choices), one, max(1, examples // 2))
        check.tenants()
        check.draws()
        if folder_option is not None:
            for seed in range(examples):
                check.damage(damages, random.Random(seed))


@dataclass
class _Check:
    """The laws, one method each."""

    make: MakePlugin
    name: str
    options: dict[str, object]
    folder_option: str | None
    second_model: MakeModel | None
    fields: dict[str, object]
    place: str
    _made: int = field(default=0)

    def schedule(self, schedule: Sequence[Step], parallel: int) -> None:
        table = self._table()
        for _ in range(1 if self.folder_option is None else 2):
            backend = FakeBackend()
            witness = DraftWitness(backend.info.vocabulary_size)
            with self._plugged(table, backend, witness, parallel) as running:
                played = play(running, schedule, self.fields)
                check_failures(running)
            witness.testify()
            check_answers(played)

    def tenants(self) -> None:
        """What is proposed to a tenant at his first request must not depend on what another one was told."""
        proposed = []
        for before in ((), ("one",), ("one", "one")):
            table = self._table()
            for tenant in before:  # each with a restart, so that whatever is written behind is there
                self._proposed(table, tenant)
            proposed.append(self._proposed(table, "another"))
        if any(each != proposed[0] for each in proposed):
            raise BrokenLaw(
                "what one tenant was told is proposed to another: drafts must depend on the sequence and on "
                "what the same request.tenant has said before"
            )

    def _proposed(self, table: dict[str, object], tenant: str) -> list[tuple[int, ...]]:
        witness = DraftWitness(FakeBackend().info.vocabulary_size)
        with self._plugged(table, FakeBackend(), witness, 1) as running:
            request = Request(prompt=_SAID_TWICE, max_tokens=24, ignore_end=True, tenant=tenant)
            run(running.engine, served(running, request, self.fields))
            check_failures(running)
        return witness.proposed

    def draws(self) -> None:
        """Of requests whose answers are drawn, for drafts that are drawn as well."""
        backend = FakeBackend(cells=4096)
        witness = DraftWitness(backend.info.vocabulary_size)
        with self._plugged(self._table(), backend, witness, 4, context_length=128) as running:
            for number in range(_MOST_ROUNDS):
                request = Request(
                    prompt=prompt_of(f"{number} the cat sat on the "),
                    max_tokens=32,
                    n=1 if self.fields else 4,
                    ignore_end=True,
                    sampling=SamplingParams(temperature=1.5),
                )
                run(running.engine, served(running, request, self.fields))
                if not witness.ranks or len(witness.ranks) >= FEWEST_DRAWS:
                    break
            check_failures(running)
        witness.testify()
        check_draws(witness.ranks)

    def damage(self, damages: Sequence[Damage], chance: random.Random) -> None:
        table = self._table()
        request = Request(prompt=_SAID_TWICE, max_tokens=24, ignore_end=True)
        for restart in range(3):
            if restart:
                chance.choice(list(damages))(Path(str(table[str(self.folder_option)])), chance)
            witness = DraftWitness(FakeBackend().info.vocabulary_size)
            with self._plugged(table, FakeBackend(), witness, 1) as running:
                played = play(running, [Step(request, 0, False)], self.fields)
                check_failures(running)
            witness.testify()
            check_answers(played)

    def _table(self) -> dict[str, object]:
        if self.folder_option is None:
            return self.options
        self._made += 1
        return {**self.options, self.folder_option: str(Path(self.place) / str(self._made))}

    def _plugged(
        self, table: dict[str, object], backend: FakeBackend, witness: DraftWitness, parallel: int, **more: Any
    ) -> Any:
        return started(
            self.make(),
            backend,
            name=self.name,
            options=table,
            second_model=self.second_model,
            parallel=parallel,
            watch=witness.watch,
            **more,
        )
