"""Switching it on."""

from __future__ import annotations

from typing import Any

import pytest
from reame_arca.options import read_options
from reame_arca.plugin import Arca
from reame_arca.wishes import read_wishes

from plugins.reame_arca.tests.real_store import free_port
from reame_core.errors import ConfigError, UnknownModel
from reame_core.models.catalogue.entry import read_entry
from reame_core.plugins.api import PluginContext
from reame_core.testing import FakeBackend

URL = "redis://127.0.0.1"


def test_it_is_off() -> None:
    assert not read_options({"url": URL}).similar


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"answers": False}, "plugins.arca.similar needs plugins.arca.answers"),
        ({"similar_threshold": 1.5}, "similar_threshold"),
        ({"similar_threshold": 0}, "similar_threshold"),
        ({"similar_max": 10}, "similar_max"),
        ({"similar_model": ""}, "similar_model"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        read_options({"url": URL, "similar": True, **options})


def test_a_model_that_is_not_there_ends_the_start() -> None:
    def opener(model: str, **wishes: object) -> Any:
        raise UnknownModel(f"there is no model {model!r}")

    options = {"url": f"redis://127.0.0.1:{free_port()}", "similar": True, "similar_model": "none"}
    context = PluginContext(FakeBackend().info, options, open_embedder=opener)
    with pytest.raises(ConfigError, match=r"plugins\.arca\.similar_model: there is no model 'none'"):
        Arca().startup(context)


def test_the_default_model_has_a_source() -> None:
    default = read_options({"url": URL}).similar_model
    entry = read_entry(default, Arca().register_models()[default], "plugin")
    assert entry.source.reference.startswith("hf:")


def test_a_request_may_do_without() -> None:
    assert read_wishes({"similar": False}) == {"similar": False}
