from __future__ import annotations

import pytest
from reame_arca import forgetful
from reame_arca.forgetful import Forgetful


def test_never_more_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetful, "MOST", 3)
    known: Forgetful[int, int] = Forgetful()
    for number in range(3):
        known[number] = number
    assert known == {0: 0, 1: 1, 2: 2}
    known[3] = 3
    assert known == {3: 3}
