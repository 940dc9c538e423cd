"""The checkers find each law that is broken, and say it in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import CandidateState, Draft, Stage
from reame_core.testing.contracts import BrokenLaw, check_cache, check_drafter, check_judge

FEW = 8


class Echo:
    """Repeats what followed the newest token the last time: a right drafter."""

    @hookimpl
    def propose_draft(self, sequence: Any, limit: int) -> Draft | None:
        tokens = sequence.tokens.tolist()
        before = [i for i, token in enumerate(tokens[:-1]) if token == tokens[-1]]
        return Draft(tokens[before[-1] + 1 :][:limit]) if before else None


def drafter(function: Any) -> Any:
    """A plugin whose ``propose_draft`` is ``function``."""

    class Plugin:
        @hookimpl
        def propose_draft(self, sequence: Any, limit: int) -> Any:
            return function(sequence, limit)

    return Plugin


def overwrite(sequence: Any, limit: int) -> None:
    sequence.tokens[0] = 5


def doubtful(sequence: Any, limit: int) -> Draft:
    lines = np.zeros((1, 10), np.float32)
    return Draft([1], [0.5], lines)


def test_a_right_drafter_passes() -> None:
    check_drafter(Echo, examples=FEW)


@pytest.mark.parametrize(
    ("function", "law"),
    [
        (lambda sequence, limit: 1 / 0, "propose_draft"),
        (lambda sequence, limit: [1, 2], "neither a Draft nor None"),
        (lambda sequence, limit: Draft([10**6]), "the vocabulary ends at"),
        (lambda sequence, limit: Draft([97] * (limit + 1)), "asked for"),
        (lambda sequence, limit: Draft([97], confidence=1.5), "no probability"),
        (lambda sequence, limit: Draft([97], match_length=-1), "match_length"),
        (lambda sequence, limit: Draft([97], probabilities=[0.5]), "without distributions"),
        (doubtful, "shape"),
        (overwrite, "tokens"),
    ],
)
def test_a_wrong_drafter_is_found_out(function: Any, law: str) -> None:
    with pytest.raises(BrokenLaw, match=law):
        check_drafter(drafter(function), examples=FEW)


class Shelf:
    """Keeps whole prompts in files, with a checksum, the tenant and the model: a right cache. What ``without``
    names is left out of it."""

    def __init__(self, *without: str) -> None:
        self.without = without

    @hookimpl
    def startup(self, context: Any) -> None:
        self.folder = Path(str(context.options["folder"]))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.model = str(sorted(context.namespace.items()))

    def _path(self, sequence: Any, end: int) -> Path:
        import hashlib

        parts = [sequence.tokens[:end].tobytes()]
        if "tenant" not in self.without:
            parts.append(sequence.request.tenant.encode())
        if "model" not in self.without:
            parts.append(self.model.encode())
        return self.folder / hashlib.sha256(b"|".join(parts)).hexdigest()

    @hookimpl
    def persist(self, sequence: Any, kv: Any, stage: Stage) -> None:
        import hashlib

        if stage is Stage.PREFIX and kv.length > 1 and "persisting" not in self.without:
            state = kv.export(0, kv.length - 1)
            self._path(sequence, kv.length - 1).write_bytes(hashlib.sha256(state).digest() + state)

    @hookimpl
    def on_prefill(self, sequence: Any, kv: Any) -> int | None:
        import hashlib

        end = sequence.prompt_length - 1
        if kv.length or end < 1 or not (path := self._path(sequence, end)).exists():
            return None
        data = path.read_bytes()
        checked = hashlib.sha256(data[32:]).digest() == data[:32] or "checksum" in self.without
        return end if checked and kv.restore(end, data[32:]) else None


def test_a_right_cache_passes() -> None:
    check_cache(Shelf, examples=FEW)


@pytest.mark.parametrize(
    ("without", "law"),
    [
        ("persisting", "nothing was restored"),
        ("tenant", "tenant"),
        ("model", "namespace|answered differently"),
        ("checksum", "answered differently|raised"),
    ],
)
def test_a_wrong_cache_is_found_out(without: str, law: str) -> None:
    with pytest.raises(BrokenLaw, match=law):
        check_cache(lambda: Shelf(without), examples=FEW)


def judge(function: Any) -> Any:
    class Plugin:
        @hookimpl
        def select_winner(self, group: Any) -> Any:
            return function(group)

    return Plugin


def first_ended(group: Any) -> int | None:
    ended = [c.choice for c in group.candidates if c.state is CandidateState.ENDED]
    return ended[0] if ended else None


def test_a_right_judge_passes() -> None:
    check_judge(judge(first_ended))


@pytest.mark.parametrize(
    ("function", "law"),
    [
        (lambda group: 99, "the choices are"),
        (lambda group: "0", "the choices are"),
        (lambda group: True, "the choices are"),
        (lambda group: 0, "which is running|which is failed"),
        (lambda group: 1 / 0, "select_winner"),
    ],
)
def test_a_wrong_judge_is_found_out(function: Any, law: str) -> None:
    with pytest.raises(BrokenLaw, match=law):
        check_judge(judge(function))


def test_a_judge_that_throws_dice_is_found_out() -> None:
    turns = iter(range(10**6))

    def dice(group: Any) -> int | None:
        ended = [c.choice for c in group.candidates if c.state is CandidateState.ENDED]
        return ended[next(turns) % len(ended)] if ended else None

    with pytest.raises(BrokenLaw, match="two verdicts"):
        check_judge(judge(dice))


class Forgetful:
    """Chooses by how many judges there were before it."""

    made = 0

    def __init__(self) -> None:
        Forgetful.made += 1
        self._turn = Forgetful.made

    @hookimpl
    def select_winner(self, group: Any) -> int | None:
        ended = [c.choice for c in group.candidates if c.state is CandidateState.ENDED]
        return ended[self._turn % len(ended)] if len(ended) > 1 else None


def test_a_judge_that_is_another_each_time_is_found_out() -> None:
    with pytest.raises(BrokenLaw, match="two verdicts"):
        check_judge(Forgetful)


def test_candidates_end_one_after_another_and_some_never() -> None:
    seen: list[tuple[int, int]] = []

    def watch(group: Any) -> None:
        running = sum(c.state is CandidateState.RUNNING for c in group.candidates)
        seen.append((running, len(group.candidates)))
        for candidate in group.candidates:
            assert (candidate.place is None) == (candidate.state is CandidateState.RUNNING)

    check_judge(judge(watch), texts=["of my own"])
    assert {size for _, size in seen} == {1, 2, 3, 4, 5, 6, 7}
    assert any(running == 0 for running, _ in seen)
    assert any(running == size - 1 > 0 for running, size in seen)
