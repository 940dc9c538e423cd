"""The examples of docs/hooks.md run and do what the page says."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reame_core.engine.backend import ModelInfo
from reame_core.engine.request import Request, SamplingParams
from reame_core.errors import ConfigError
from reame_core.models.catalogue import Catalogue
from reame_core.plugins.api import (
    Candidate,
    CandidateState,
    Draft,
    DraftPrice,
    DraftWish,
    Group,
    PluginContext,
    Stage,
    Verdict,
)
from reame_core.plugins.guard import FAILURES_BEFORE_OFF
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import RESERVED_NAMES, PluginSelection

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = {
    hook: re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    for hook, section in re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
}
MODEL = ModelInfo("tiny", vocabulary_size=8, trained_context=8, kv_cells=8, max_sequences=1, max_rows=8)

Load = Callable[[str], PluginManager]


@pytest.fixture
def load(folder: Path) -> Load:
    def load_example(code: str) -> PluginManager:
        (folder / "example.py").write_text(code)
        return PluginManager(PluginSelection(strict=True, folder=folder), entry_points=[])

    return load_example


def sequence(tokens: list[int], prompt_length: int = 0, **request: Any) -> Any:
    made = Request(prompt=(1,), **request)
    return SimpleNamespace(tokens=np.array(tokens, np.int32), prompt_length=prompt_length, request=made)


def start(manager: PluginManager, **options: Any) -> None:
    manager.startup(lambda name: PluginContext(MODEL, options))


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_is_a_plugin(load: Load, block: str) -> None:
    [report] = load(block).report()
    assert (report.state, report.why) == ("active", "")
    assert report.hooks


@pytest.mark.parametrize("hook", EXAMPLES)
def test_the_example_of_a_hook_has_that_hook(load: Load, hook: str) -> None:
    [block] = EXAMPLES[hook]
    assert hook in load(block).report()[0].hooks


def test_the_first_example_stutters(load: Load) -> None:
    hook = load(BLOCKS[0]).hook("propose_draft")
    assert hook.first(sequence([3, 5]), 2) == ("example", Draft([5, 5]))


def test_settings_on_the_page_exist() -> None:
    documents = [
        tomllib.loads(text) for text in re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    ]
    [packaging] = [each for each in documents if "project" in each]
    assert packaging["project"]["entry-points"]["reame"]
    [settings] = [each["plugins"] for each in documents if "plugins" in each]
    assert set(settings) - {"diskkv"} == RESERVED_NAMES


def test_the_number_of_failures_on_the_page_is_right() -> None:
    assert FAILURES_BEFORE_OFF == 3
    assert "three failures in a row" in PAGE


def test_startup_example(load: Load, tmp_path: Path) -> None:
    manager = load(EXAMPLES["startup"][0])
    start(manager, file=str(tmp_path / "journal.txt"))
    manager.shutdown()
    assert (tmp_path / "journal.txt").read_text() == "started with tiny\n"


def test_startup_example_refuses_a_wrong_option(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"plugins\.journal\.file must be a path, not 4"):
        start(load(EXAMPLES["startup"][0]), file=4)


def test_shutdown_example(load: Load) -> None:
    manager = load(EXAMPLES["shutdown"][0])
    start(manager)
    manager.shutdown()
    assert manager.error_counts() == {("example", "startup"): 0, ("example", "shutdown"): 0}


class FakeCells:
    """``KVAccess`` whose cells are their positions."""

    def __init__(self, length: int = 0) -> None:
        self.length = length
        self.restored: bytes | None = None

    def export(self, start: int, end: int) -> bytes:
        return bytes(range(start, end))

    def restore(self, end: int, state: bytes) -> bool:
        self.length, self.restored = end, state
        return True


def test_on_prefill_example(load: Load) -> None:
    hooks = load(EXAMPLES["on_prefill"][0]).engine_hooks()
    first = sequence([7, 8, 9], 3, tenant="a")
    assert hooks.on_prefill.first(first, FakeCells()) is None
    hooks.persist.all(first, FakeCells(3), Stage.PREFIX)

    cells = FakeCells()
    assert hooks.on_prefill.first(sequence([7, 8, 9, 4], 4, tenant="a"), cells) == ("example", 3)
    assert cells.restored == b"\0\1\2"
    for other, length in [
        (sequence([7, 8, 9], 3, tenant="a"), 0),
        (sequence([7, 8, 1, 4], 4, tenant="a"), 0),
        (sequence([7, 8, 9, 4], 4, tenant="b"), 0),
        (sequence([7, 8, 9, 4], 4, tenant="a"), 2),
    ]:
        cells = FakeCells(length)
        assert hooks.on_prefill.first(other, cells) is None
        assert cells.restored is None


def test_propose_draft_example(load: Load) -> None:
    hook = load(EXAMPLES["propose_draft"][0]).hook("propose_draft")
    assert hook.first(sequence([1, 2, 3, 4, 5, 1, 2, 3]), 2) == ("example", Draft([4, 5]))
    assert hook.first(sequence([1, 1, 1, 1]), 9) == ("example", Draft([1]))
    assert hook.first(sequence([1, 2, 3, 4]), 2) is None
    assert hook.first(sequence([1]), 2) is None


def wishes(*sequences: Any, limit: int = 3) -> list[DraftWish]:
    return [DraftWish(each, limit) for each in sequences]


def test_price_drafts_example(load: Load) -> None:
    manager = load(EXAMPLES["price_drafts"][0])
    asked = wishes(sequence([1, 5]), sequence([7]))
    [(_, price)] = manager.hook("price_drafts").calls
    assert price(asked) == DraftPrice(2.0, most=8)
    [(_, compute)] = manager.hook("compute_drafts").calls
    assert compute(asked) == [Draft([5, 5, 5]), Draft([7, 7, 7])]
    assert 0 < price(asked).per_token < 2.0


def test_compute_drafts_example(load: Load) -> None:
    [(_, compute)] = load(EXAMPLES["compute_drafts"][0]).hook("compute_drafts").calls
    assert compute(wishes(sequence([119]), sequence([3]))) == [Draft([120, 121, 122]), Draft([])]


@pytest.mark.parametrize(("draft", "accepted", "next_token"), [([2, 1], 2, 3), ([2, 0], 1, 1), ([0, 1], 0, 2)])
def test_verify_example(load: Load, draft: list[int], accepted: int, next_token: int) -> None:
    hook = load(EXAMPLES["verify"][0]).hook("verify")
    logits = np.eye(8, dtype=np.float32)[[2, 1, 3]]
    kept: list[int] = []
    chooser = SimpleNamespace(accept=kept.append)
    assert hook.first(sequence([1]), Draft(draft), logits, chooser) == (
        "example",
        Verdict(accepted, next_token),
    )
    assert kept == draft[:accepted]
    drawn = sequence([1], sampling=SamplingParams(temperature=1))
    assert hook.first(drawn, Draft(draft), logits, chooser) is None


def test_select_winner_example(load: Load) -> None:
    hook = load(EXAMPLES["select_winner"][0]).hook("select_winner")

    def winner(*texts: str | None) -> Any:
        candidates = tuple(
            Candidate(
                choice, CandidateState.RUNNING if text is None else CandidateState.ENDED, text or "", 1, 0.0
            )
            for choice, text in enumerate(texts)
        )
        return hook.first(Group(Request(prompt=(1,), n=3, select=True), candidates))

    assert winner("so\n4", None, None) is None
    assert winner("so\n4", "3", None) is None
    assert winner("3", "so\n4", "hence\n4\n") == ("example", 1)
    assert winner("", None, "") is None


def test_persist_example(load: Load, tmp_path: Path) -> None:
    manager = load(EXAMPLES["persist"][0])
    start(manager, file=str(tmp_path / "tokens.jsonl"))
    persist = manager.hook("persist")
    persist.all(sequence([1, 2, 3, 4], 2), None, Stage.PREFIX)
    persist.all(sequence([1, 2, 3, 4], 2), None, Stage.END)
    persist.all(sequence([1, 2, 5], 2), None, Stage.END)
    manager.shutdown()
    assert [json.loads(line) for line in (tmp_path / "tokens.jsonl").read_text().splitlines()] == [[3, 4], [5]]
    assert not any(manager.error_counts().values())


def test_register_models_example(load: Load) -> None:
    catalogue = Catalogue(None, (), load(EXAMPLES["register_models"][0]).hook("register_models").answers)
    entry = catalogue.find("house-0.5b")
    assert entry is not None
    assert entry.origin == "plugin example"
    assert (entry.source.reference, entry.facts.context) == (
        "https://models.example.org/house-0.5b-q4_k_m.gguf",
        8192,
    )
