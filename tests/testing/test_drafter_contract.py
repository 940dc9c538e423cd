"""Laws of drafters that compute, draw, remember, or keep files: the checker finds each one that is broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Draft, DraftPrice, FieldService, Stage
from reame_core.testing import FakeBackend
from reame_core.testing.contracts import BrokenLaw, check_drafter
from reame_core.testing.contracts.draws import FEWEST_DRAWS, check_draws, rank_of

FEW = 8
SIZE = FakeBackend().info.vocabulary_size

Write = Callable[[Any, Any], Draft | None]


class Computing:
    """Drafts by ``write``, which is given a wish and a distribution of three tokens to draw from."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._random = np.random.default_rng(5)

    @hookimpl
    def price_drafts(self, wishes: Any) -> DraftPrice:
        return DraftPrice(1.0)

    @hookimpl
    def compute_drafts(self, wishes: Any) -> list[Draft | None]:
        line = np.zeros(SIZE, np.float32)
        line[self._random.choice(SIZE, 3, replace=False)] = (0.5, 0.3, 0.2)
        return [self._write(wish, line) for wish in wishes]


def honest(wish: Any, line: Any) -> Draft:
    if not wish.drawn:
        return Draft([int(line.argmax())])
    token = wish.sequence.chooser().draw(line)
    return Draft([token], [float(line[token])], line[None])


def most_probable(wish: Any, line: Any) -> Draft:
    """Takes the best token and says it was drawn."""
    token = int(line.argmax())
    return Draft([token], None, line[None]) if wish.drawn else Draft([token])


def picky(wish: Any, line: Any) -> Draft | None:
    """Draws, and drops what is improbable."""
    draft = honest(wish, line)
    return draft if line[draft.tokens[0]] > 0.25 else None


def always_drawing(wish: Any, line: Any) -> Draft:
    token = wish.sequence.chooser().draw(line)
    return Draft([token], None, line[None])


def other_shares(wish: Any, line: Any) -> Draft:
    draft = honest(wish, line)
    return Draft(draft.tokens, draft.probabilities and [0.9], draft.distributions)


def test_honest_draws_pass() -> None:
    check_drafter(partial(Computing, honest), examples=FEW)


@pytest.mark.parametrize(
    ("write", "law"),
    [
        (most_probable, "do not follow the distributions"),
        (picky, "do not follow the distributions"),
        (always_drawing, "none may be drawn"),
        (other_shares, "probabilities are not those"),
    ],
)
def test_draws_that_would_change_sampled_answers_are_found_out(write: Write, law: str) -> None:
    with pytest.raises(BrokenLaw, match=law):
        check_drafter(partial(Computing, write), examples=FEW)


def test_ranks_of_honest_draws_are_uniform_also_where_tokens_are_equally_probable() -> None:
    random = np.random.default_rng(0)
    line = np.array([0.25, 0.25, 0.4, 0.1], np.float32)
    tokens = random.choice(4, 20_000, p=line / line.sum())
    check_draws([rank_of(int(token), line, float(random.random())) for token in tokens])
    with pytest.raises(BrokenLaw, match="hit"):
        check_draws([rank_of(int(token), line, float(random.random())) for token in tokens if token])
    check_draws([0.0] * (FEWEST_DRAWS - 1))  # too few to say anything


class Short(Computing):
    @hookimpl
    def compute_drafts(self, wishes: Any) -> Any:
        return [None] * (len(wishes) + 1)


class Free(Computing):
    @hookimpl
    def price_drafts(self, wishes: Any) -> DraftPrice:
        return DraftPrice(0.0)


@pytest.mark.parametrize(("kind", "law"), [(Short, "one entry for each"), (Free, "price_drafts")])
def test_what_is_no_list_and_no_price(kind: type[Computing], law: str) -> None:
    with pytest.raises(BrokenLaw, match=law):
        check_drafter(partial(kind, honest), examples=FEW)


class Gossip:
    """Proposes what anybody was told, in a file; with ``careful`` only to the same tenant."""

    def __init__(self, *, careful: bool = False, trusting: bool = False) -> None:
        self._careful = careful
        self._trusting = trusting

    @hookimpl
    def startup(self, context: Any) -> None:
        self._path = Path(str(context.options["folder"])) / "said.json"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._said = json.loads(self._path.read_text()) if self._path.exists() else {}
        except ValueError:
            if self._trusting:
                raise
            self._said = {}

    def _key(self, sequence: Any) -> str:
        return sequence.request.tenant if self._careful else ""

    @hookimpl
    def propose_draft(self, sequence: Any, limit: int) -> Draft | None:
        said = self._said.get(self._key(sequence), [])
        tokens = [token for token in said[sequence.room % 7 :][:limit] if isinstance(token, int)]
        return Draft([token for token in tokens if 0 <= token < SIZE]) if tokens else None

    @hookimpl
    def persist(self, sequence: Any, stage: Stage) -> None:
        if stage is Stage.END:
            self._said[self._key(sequence)] = sequence.tokens[sequence.prompt_length :].tolist()
            self._path.write_text(json.dumps(self._said))


def test_what_is_told_to_one_tenant_is_not_proposed_to_another() -> None:
    check_drafter(partial(Gossip, careful=True), folder_option="folder", examples=FEW)
    with pytest.raises(BrokenLaw, match="proposed to another"):
        check_drafter(Gossip, folder_option="folder", examples=FEW)


def test_damaged_files_must_not_make_it_raise() -> None:
    with pytest.raises(BrokenLaw, match=r"does not start: .*DecodeError"):
        check_drafter(partial(Gossip, careful=True, trusting=True), folder_option="folder", examples=FEW)


class Served(Gossip):
    @hookimpl
    def serve_fields(self, request: Any) -> FieldService | None:
        return FieldService(fields=frozenset({"reame.mine"})) if "reame.mine" in request.fields else None


def test_fields_have_to_be_served() -> None:
    make = partial(Served, careful=True)
    check_drafter(make, folder_option="folder", fields={"reame.mine": 1}, examples=FEW)
    with pytest.raises(BrokenLaw, match=r"does not serve reame\.yours"):
        check_drafter(make, folder_option="folder", fields={"reame.yours": 1}, examples=FEW)
