"""The contract of plugins with ``on_prefill`` and ``persist``."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reame_core.engine.request import Request
from reame_core.testing.contracts.damage import Damage, flip_a_bit, truncate
from reame_core.testing.contracts.laws import (
    BrokenLaw,
    MakePlugin,
    Step,
    check_answers,
    check_failures,
    for_all,
    play,
    schedules,
    started,
)
from reame_core.testing.driving import prompt_of, run
from reame_core.testing.fake_backend import FakeBackend

_LONG = prompt_of(
    "a long beginning that two prompts have in common, word for word, and then some more words. " * 2
)
_REQUEST = Request(prompt=_LONG, max_tokens=8)


def check_cache(
    make: MakePlugin,
    *,
    folder_option: str | None = "folder",
    options: dict[str, object] | None = None,
    damages: Sequence[Damage] = (flip_a_bit, truncate),
    examples: int = 20,
) -> None:
    """Drive the cache that ``make`` makes through ``examples`` schedules of requests. ``folder_option`` is the
    option that says where it keeps its files; None where it has none, and nothing is damaged then. Raises
    BrokenLaw where

    - an answer differs from the one without it: cold, warm, with several users, after a restart;
    - files that were damaged between two runs change an answer, or make it raise;
    - cells of one model are restored into another, or those of one tenant for another;
    - it never restores anything.
    """
    options = dict(options or {})
    with tempfile.TemporaryDirectory() as name:
        counter = iter(range(1 << 30))

        def fresh() -> dict[str, object]:
            where = {folder_option: str(Path(name) / str(next(counter)))} if folder_option else {}
            return options | where

        for_all(schedules(), lambda schedule: _check_restart(make, fresh(), schedule), examples)
        _check_use(make, fresh())
        _check_tenants(make, fresh())
        if folder_option is not None:
            _check_models(make, fresh())
            for seed in range(examples):
                table = fresh()
                _check_damage(make, table, Path(str(table[folder_option])), damages, random.Random(seed))


def _check_restart(make: MakePlugin, options: dict[str, object], schedule: Sequence[Step]) -> None:
    for _ in range(2):
        with started(make(), FakeBackend(), options=options, parallel=3, residents=2) as running:
            played = play(running, schedule)
            check_failures(running)
        check_answers(played)


def _restored(make: MakePlugin, options: dict[str, object], request: Request, **backend: Any) -> int:
    """Tokens that came from the plugin, on a new engine; the answer is checked."""
    with started(make(), FakeBackend(**backend), options=options) as running:
        answers = run(running.engine, request)[0]
        check_failures(running)
    check_answers([(Step(request, 0, False), answers)], **backend)
    return sum(tokens for source, tokens in answers[0].usage.reused.items() if source != "ram")


def _check_use(make: MakePlugin, options: dict[str, object]) -> None:
    _restored(make, options, _REQUEST)
    if not _restored(make, options, _REQUEST):
        raise BrokenLaw(
            f"a prompt of {len(_LONG)} tokens was computed, then Reame started anew, and nothing was restored"
        )


def _check_tenants(make: MakePlugin, options: dict[str, object]) -> None:
    mine = Request(prompt=_LONG, max_tokens=8, tenant="one")
    yours = Request(prompt=_LONG, max_tokens=8, tenant="another")
    _restored(make, options, mine)
    if _restored(make, options, yours):
        raise BrokenLaw(
            "what was stored for one tenant was restored for another: request.tenant must be in the key"
        )


def _check_models(make: MakePlugin, options: dict[str, object]) -> None:
    _restored(make, options, _REQUEST)
    if _restored(make, options, _REQUEST, weights=1):
        raise BrokenLaw("cells of one model were restored into another: context.namespace must be in the key")


def _check_damage(
    make: MakePlugin, options: dict[str, object], folder: Path, damages: Sequence[Damage], chance: random.Random
) -> None:
    _restored(make, options, _REQUEST)
    chance.choice(list(damages))(folder, chance)
    _restored(make, options, _REQUEST)
