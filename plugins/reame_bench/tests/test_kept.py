from __future__ import annotations

from types import SimpleNamespace

import pytest
from reame_bench.client import Reply
from reame_bench.servers.choice import choose
from reame_bench.servers.reame import Reame
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
    assert outcome.notes == ["from the store came the same text; 12 tokens"]


def test_only_a_server_with_a_store_takes_part() -> None:
    kept = BY_NAME["kept"]
    chosen = choose(["reame"], store="redis://127.0.0.1:6390")
    assert [each.name for each in chosen if kept.takes(each)] == ["reame, store"]
    [store] = [each for each in chosen if isinstance(each, Reame) and each.name == "reame, store"]
    assert not BY_NAME["users"].takes(store)
    assert not any(kept.takes(each) for each in choose(["reame"]))
