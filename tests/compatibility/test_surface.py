"""What counts as a loss between two versions of the API."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.compatibility.surface import Surface, losses, surface
from tests.plugins.public_api import PUBLIC_MODULES

NOW = surface(PUBLIC_MODULES)
API = "reame_core.plugins.api"


def without(*path: str) -> Callable[[Surface], None]:
    def change(found: Any) -> None:
        for step in path[:-1]:
            found = found[step]
        del found[path[-1]]

    return change


def test_the_same_is_no_loss() -> None:
    assert losses(NOW, copy.deepcopy(NOW)) == []


def test_the_surface_has_what_plugins_use() -> None:
    names = NOW["modules"][API]
    assert {"Draft", "Stage", "SequenceView", "ModelInfo", "FieldService"} <= set(names)
    assert "tokens" in names["SequenceView"]["members"]
    assert names["Stage"]["values"] == {"PREFIX": "prefix", "END": "end"}
    assert ["probabilities", "POSITIONAL_OR_KEYWORD", True] in names["Draft"]["made with"]
    assert "hookimpl" in NOW["modules"]["reame_core.hookspecs"]
    assert "np" not in names
    assert "Settings" in NOW["modules"]["reame_core.config"]
    assert all(NOW["modules"][module] for module in PUBLIC_MODULES)


@pytest.mark.parametrize(
    ("change", "loss"),
    [
        (without("modules", API), f"{API}.Draft is gone"),
        (without("modules", API, "Draft"), f"{API}.Draft is gone"),
        (without("modules", API, "SequenceView", "members", "room"), f"{API}.SequenceView.room is gone"),
        (without("modules", API, "Stage", "values", "END"), f"{API}.Stage.END is no longer 'end'"),
        (without("hooks", "verify"), "there is no hook 'verify' any more"),
    ],
)
def test_what_is_gone(change: Callable[[Surface], None], loss: str) -> None:
    later = copy.deepcopy(NOW)
    change(later)
    assert loss in losses(NOW, later)


def test_arguments() -> None:
    later = copy.deepcopy(NOW)
    draft = later["modules"][API]["Draft"]["made with"]
    draft[0], draft[1] = draft[1], draft[0]
    later["modules"][API]["Verdict"]["made with"].append(["reason", "POSITIONAL_OR_KEYWORD", False])
    restore = later["modules"][API]["KVAccess"]["members"]["restore"]
    del restore[2]
    later["modules"]["reame_core.testing"]["prompt_of"]["arguments"][0][1] = "KEYWORD_ONLY"
    assert losses(NOW, later) == [
        f"{API}.Draft takes its arguments in another order",
        f"{API}.KVAccess.restore takes no argument 'keep' any more",
        f"{API}.Verdict wants an argument 'reason' now",
        "reame_core.testing.prompt_of does not take 'text' by position any more",
    ]


def test_what_is_added_is_no_loss_except_where_plugins_have_to_have_it() -> None:
    later = copy.deepcopy(NOW)
    later["hooks"]["new"] = ["argument"]
    later["modules"][API]["SequenceView"]["members"]["new"] = None
    later["modules"][API]["Draft"]["made with"].append(["new", "POSITIONAL_OR_KEYWORD", True])
    later["modules"][API]["Constraint"]["members"]["new"] = []
    assert losses(NOW, later) == [f"{API}.Constraint.new is wanted of plugins now"]
