"""The contract of all drafters, which the core's own tools for plugins check."""

from __future__ import annotations

from functools import partial

import pytest
from reame_draftmodel.plugin import DraftModelPlugin

from plugins.reame_draftmodel.tests.support import Mumbling
from reame_core.testing import FakeBackend
from reame_core.testing.contracts import check_drafter

MODELS = {
    "the same": FakeBackend,
    "alike": partial(Mumbling, 3),
    "another": partial(FakeBackend, weights=1),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("options", [{"p_min": 0.0}, {"p_min": 0.5, "max_draft": 3}], ids=["bold", "careful"])
def test_the_contract_of_drafters(model: str, options: dict[str, object]) -> None:
    make = partial(MODELS[model], cells=1024, max_sequences=34)
    check_drafter(
        DraftModelPlugin,
        name="draftmodel",
        options={"model": "small", **options},
        second_model=make,
        examples=20,
    )
