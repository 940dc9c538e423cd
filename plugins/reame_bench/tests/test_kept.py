from __future__ import annotations

from types import SimpleNamespace

import pytest
from reame_bench.client import Reply
from reame_bench.servers.choice import choose
from reame_bench.sizes import SMOKE
from reame_bench.workloads.catalogue import BY_NAME
from reame_bench.workloads.kept import Kept


class OneAnswer:
    """A stage whose server forgets nothing, and is slow once."""

    size = SMOKE

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.asked: list[object] = []
        self.starts = 1

    def ask(self, messages: object, most: int) -> SimpleNamespace:
        self.asked.append(messages)
        return SimpleNamespace(reply=self.replies.pop(0))

    def restart(self) -> None:
        self.starts += 1


def test_the_same_letter_is_asked_for_before_and_after_a_restart() -> None:
    stage = OneAnswer(Reply(seconds=4.0, text="Dear", tokens=12), Reply(seconds=0.02, text="Dear"))
    outcome = Kept().run(stage)  # type: ignore[arg-type]
    assert stage.starts == 2
    assert stage.asked[0] == stage.asked[1]
    assert outcome.figures == {"first": 4.0, "again": 0.02, "gain": pytest.approx(200)}
    assert outcome.notes == ["what was kept is the same text; 12 tokens"]


def test_only_servers_that_keep_answers_take_part() -> None:
    kept = BY_NAME["kept"]
    chosen = choose(["reame"], store="redis://127.0.0.1:6390")
    keeping = [each for each in chosen if kept.takes(each)]
    assert [each.name for each in keeping] == ["reame, store", "reame, memo"]
    assert not any(BY_NAME["users"].takes(each) for each in keeping)
    assert [each.name for each in choose(["reame"]) if kept.takes(each)] == ["reame, memo"]
    assert not any(kept.takes(each) for each in choose(["reame:diskkv"]))
