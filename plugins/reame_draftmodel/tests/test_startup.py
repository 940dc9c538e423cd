"""What is refused at the start, and in which words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from reame_draftmodel.plugin import DraftModelPlugin

from plugins.reame_draftmodel.tests.support import Drafting
from reame_core.errors import ConfigError, UnknownModel
from reame_core.plugins.api import PluginContext
from reame_core.testing import FakeBackend
from reame_core.testing import fake_vocabulary as vocabulary


class Foreign(FakeBackend):
    """A model whose information and pieces are changed."""

    def __init__(self, changes: dict[str, Any], pieces: dict[int, bytes] | None = None) -> None:
        super().__init__(cells=256, max_sequences=34)
        self._changes = changes
        self._pieces = pieces or {}

    @property
    def info(self) -> Any:
        return replace(super().info, **self._changes)

    def piece(self, token: int) -> bytes:
        return self._pieces.get(token) or super().piece(token)


def test_without_a_model_the_plugin_does_nothing() -> None:
    plugin = DraftModelPlugin()
    plugin.startup(PluginContext(FakeBackend().info, {}))
    assert plugin.price_drafts([]) is None
    assert plugin.compute_drafts([]) is None
    assert plugin.metrics() is None
    plugin.shutdown()


def test_the_model_is_opened_as_the_settings_say() -> None:
    drafting = Drafting(model="tiny", context_length=2048, threads=3)
    assert drafting.opened == {"model": "tiny", "cells": 2048, "sequences": 32, "threads": 3}
    assert Drafting(model="tiny").opened["cells"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_draft": 0}, r"plugins.draftmodel.max_draft must be .*, not 0"),
        ({"p_min": 1.5}, r"plugins.draftmodel.p_min must be .*, not 1.5"),
        ({"p_mim": 0.5}, r"plugins.draftmodel has no setting 'p_mim'; did you mean 'p_min'"),
        ({"threads": "many"}, r"plugins.draftmodel.threads must be a whole number.*, not 'many'"),
    ],
)
def test_wrong_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Drafting(**options)


def test_a_model_that_is_not_there() -> None:
    def opener(model: str, **wishes: Any) -> Any:
        raise UnknownModel(f"there is no model {model!r}")

    context = PluginContext(FakeBackend().info, {"model": "tony"}, open_model=opener)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^plugins\.draftmodel\.model: there is no model 'tony'$"):
        DraftModelPlugin().startup(context)


def test_the_same_vocabulary_needs_no_comparison() -> None:
    class Silent(Foreign):
        def piece(self, token: int) -> bytes:
            raise AssertionError("a token was looked at")

    Drafting(Silent({}), tokenizer="fake")


@pytest.mark.parametrize(
    ("draft", "difference"),
    [
        (Foreign({"vocabulary_type": "SPM"}), "they cut text into tokens in different ways"),
        (Foreign({}, {98: b"B"}), "token 98 is 'b' for the one and 'B' for the other"),
        (Foreign({}, {200: b"\xff"}), r"token 200 is '\\xc8' for the one and '\\xff' for the other"),
        (
            Foreign({"special_tokens": vocabulary.SPECIALS | {"<|end|>": 259}}),
            "token 259 is '<|im_end|>' for the one and '<|end|>' for the other",
        ),
        (Foreign({"vocabulary_size": 100}, {99: b"!"}), "token 99 is 'c' for the one and '!' for the other"),
    ],
)
def test_case_42_another_vocabulary_is_refused_with_both_names(draft: Foreign, difference: str) -> None:
    draft._changes["name"] = "tiny"
    with pytest.raises(ConfigError) as caught:
        Drafting(draft, tokenizer="another")
    message = str(caught.value)
    assert message.startswith("plugins.draftmodel.model: tiny (")
    assert "cannot draft for fake (fake vocabulary of 270 tokens)" in message
    assert difference in message
    assert "\n" not in message


@pytest.mark.parametrize("size", [vocabulary.SIZE - 3, vocabulary.SIZE + 50])
def test_vocabularies_of_different_sizes_that_overlap_are_compatible(size: int) -> None:
    Drafting(
        Foreign({"vocabulary_size": size}, dict.fromkeys(range(vocabulary.SIZE, 400), b"x")),
        tokenizer="?",
    )


def test_a_recurrent_model_cannot_draft() -> None:
    with pytest.raises(ConfigError, match=r"fake is a recurrent model, which cannot take a token back"):
        Drafting(FakeBackend(recurrent=True, max_sequences=34))
