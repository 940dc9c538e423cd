"""Names of variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reame_core.config import Flag
from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from tests.config.conftest import Load


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("REAME_MODEL__THREAD", "REAME_MODEL__THREAD: unknown variable; did you mean REAME_MODEL__THREADS?"),
        ("REAME_MODLE__THREADS", "REAME_MODLE__THREADS: unknown variable; did you mean REAME_MODEL__THREADS?"),
        ("REAME_model__threads", "REAME_model__threads: unknown variable; did you mean REAME_MODEL__THREADS?"),
        (
            "REAME_PLUGINS__DISABEL",
            "REAME_PLUGINS__DISABEL: unknown variable; did you mean REAME_PLUGINS__DISABLE?",
        ),
        (
            "REAME_PLUGINS__TABLES",
            "REAME_PLUGINS__TABLES: unknown variable; did you mean REAME_PLUGINS__DISABLE?",
        ),
        ("REAME_X__Y", "REAME_X__Y: unknown variable; `reame config` lists the settings"),
        ("REAME_PLUGINS____X", "REAME_PLUGINS____X: unknown variable; did you mean REAME_PLUGINS__ONLY?"),
    ],
)
def test_an_unknown_variable_is_an_error(variable: str, message: str, load: Load) -> None:
    with pytest.raises(ConfigError) as error:
        load(environment={variable: "1"})
    assert str(error.value) == message


def test_variables_of_others_are_left_alone(load: Load) -> None:
    load(
        environment={"REAME_DEBUG": "1", "REAME_TRACE_PLUGINS": "x", "XREAME_MODEL__THREADS": "x", "REAME": "x"}
    )


def test_the_short_variable_names_the_only_plugins(load: Load) -> None:
    assert load(environment={"REAME_PLUGINS": "a,b"}).values.plugins.only == ("a", "b")
    assert load(environment={"REAME_PLUGINS": ""}).values.plugins.only == ()
    assert load(environment={"REAME_PLUGINS": "all"}).values.plugins.only is None
    settings = load('[plugins]\nonly = ["c"]\n', environment={"REAME_PLUGINS": "a"})
    assert settings.values.plugins.only == ("a",)
    assert str(settings.origin("plugins.only")) == "environment REAME_PLUGINS"


def test_the_short_and_the_long_variable_exclude_each_other(load: Load) -> None:
    with pytest.raises(ConfigError, match="mean the same: set one of them"):
        load(environment={"REAME_PLUGINS": "a", "REAME_PLUGINS__ONLY": "a"})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20", 20),
        ("true", True),
        ('["a", "b"]', ["a", "b"]),
        ('"20"', "20"),
        ("/tmp/x", "/tmp/x"),
        ("", ""),
        ("1\nother = 2", "1\nother = 2"),
        ("[" * 20000, "[" * 20000),
    ],
)
def test_options_of_plugins_are_toml_or_text(text: str, value: object, load: Load) -> None:
    settings = load(environment={"REAME_PLUGINS__DISKKV__SOME_OPTION": text})
    assert settings.values.plugins.tables == {"diskkv": {"some_option": value}}


def test_lower_layers_are_checked_too(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"engine\.parallel must be"):
        load("[engine]\nparallel = 0\n", environment={"REAME_ENGINE__PARALLEL": "2"})
    with pytest.raises(ConfigError, match="REAME_ENGINE__PARALLEL must be"):
        load(environment={"REAME_ENGINE__PARALLEL": "0"}, flags=[Flag("--x", "engine.parallel", "2")])
