"""Flag over environment over file over default, for every setting there is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reame_core.config import Config, Flag, Settings
from reame_core.config.keys import Key, all_keys
from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.config.conftest import Load

# Three different values of each setting, none of them the default.
DIFFERENT: dict[str, tuple[object, object, object]] = {
    "model.path": ("/a.gguf", "/b.gguf", "/c.gguf"),
    "model.context_length": (1024, 2048, 8192),
    "model.threads": (1, 2, 3),
    "model.kv_cache_type": ("q8_0", "q4_0", "q8_0"),
    "model.mmap": (False, True, False),
    "model.mlock": (True, False, True),
    "model.folder": ("/a", "/b", "/c"),
    "model.catalogue": ("/a.toml", "/b.toml", "/c.toml"),
    "engine.parallel": (1, 2, 64),
    "engine.stall_ms": (1, 50.5, 60000),
    "engine.exact": (True, False, True),
    "engine.adapt_threads": (False, True, False),
    "engine.tune": (False, True, False),
    "engine.extra_buffers": ("on", "off", "on"),
    "engine.flash_attention": ("auto", "off", "auto"),
    "engine.max_rows": (1, 63, 4096),
    "engine.resident": (0, 1, 200),
    "engine.kv_cells": (256, 512, 1024),
    "engine.queue": (0, 1, 2),
    "engine.max_draft": (0, 1, 512),
    "sampling.temperature": (0.5, 1, 1.5),
    "sampling.top_k": (1, 40, 100),
    "sampling.top_p": (0.25, 0.5, 0.75),
    "sampling.min_p": (0.25, 0.5, 1),
    "sampling.repeat_penalty": (0.5, 1.25, 10),
    "sampling.max_tokens": (1, 2, 3),
    "chat.markdown": (False, True, False),
    "chat.status": (False, True, False),
    "chat.history": (False, True, False),
    "chat.drop_oldest": (True, False, True),
    "server.host": ("::1", "0.0.0.0", "localhost"),
    "server.port": (0, 1, 65535),
    "server.api_key": (["a:1"], ["b", "c"], ["d"]),
    "server.keys_file": ("/a", "/b", "/c"),
    "server.allow_public": (True, False, True),
    "server.isolate_keys": (True, False, True),
    "server.aliases": (["a"], ["b", "c"], ["d"]),
    "server.any_model": (True, False, True),
    "server.cors_origins": (["*"], ["http://b"], ["http://c"]),
    "server.max_body_mb": (1, 2.5, 4096),
    "server.keep_alive_s": (1, 2.5, 3600),
    "server.reader_timeout_s": (1, 2.5, 3600),
    "server.request_timeout_s": (1, 2.5, 3600),
    "server.grace_s": (0, 2.5, 3600),
    "server.metrics": ("off", "open", "off"),
    "server.log_format": ("json", "console", "json"),
    "server.log_level": ("debug", "warning", "error"),
    "server.log_prompts": (True, False, True),
    "plugins.disable": (["a"], ["b", "c"], ["d"]),
    "plugins.only": (["a"], ["b", "c"], []),
    "plugins.order": (["a"], ["b", "c"], ["d"]),
    "plugins.strict": (True, False, True),
    "plugins.folder": ("/a", "/b", "/c"),
}


def value_of(settings: Settings, key: Key) -> object:
    value = getattr(getattr(settings.values, key.section), key.name)
    return list(value) if isinstance(value, tuple) else value


def as_text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(value)
    return str(value)


def test_every_setting_is_tried() -> None:
    assert list(DIFFERENT) == list(all_keys())


@pytest.mark.parametrize("name", DIFFERENT)
def test_each_layer_beats_the_next(name: str, load: Load, file: Path) -> None:
    key = all_keys()[name]
    in_file, in_environment, as_flag = DIFFERENT[name]
    toml = f"[{key.section}]\n{key.name} = {json.dumps(in_file)}\n"
    environment = {key.variable: as_text(in_environment)}
    flag = Flag("--option", name, as_text(as_flag))

    default = load()
    assert value_of(default, key) == value_of(Settings(), key)
    assert str(default.origin(name)) == "default"

    from_file = load(toml)
    assert value_of(from_file, key) == in_file
    assert str(from_file.origin(name)) == f"file {file}"

    from_environment = load(toml, environment=environment)
    assert value_of(from_environment, key) == in_environment
    assert str(from_environment.origin(name)) == f"environment {key.variable}"

    from_flag = load(toml, environment=environment, flags=[flag])
    assert value_of(from_flag, key) == as_flag
    assert str(from_flag.origin(name)) == "flag --option"


def test_no_source_gives_the_defaults(load: Load) -> None:
    assert load().values == Config()
    assert load("").values == Config()


def test_the_defaults_are_what_was_agreed() -> None:
    config = Config()
    assert config.model.context_length is None
    assert config.model.kv_cache_type == "f16"
    assert config.model.mmap
    assert config.engine.parallel == 4
    assert config.engine.stall_ms == 200
    assert config.engine.extra_buffers == "auto"
    assert config.sampling.temperature == 0
    assert config.plugins.only is None


@pytest.mark.parametrize("threads", ["0", "-1", "auto", "AUTO"])
def test_threads_of_zero_and_less_are_automatic(threads: str, load: Load) -> None:
    assert load(environment={"REAME_MODEL__THREADS": threads}).values.model.threads is None
    assert load("[model]\nthreads = 0\n").values.model.threads is None


@pytest.mark.parametrize(
    "key", [key for key in all_keys().values() if key.none_word], ids=lambda key: key.full_name
)
def test_the_word_for_the_default_undoes_a_lower_layer(key: Key, load: Load) -> None:
    value = ["a"] if key.name == "only" else 8
    toml = f"[{key.section}]\n{key.name} = {json.dumps(value)}\n"
    assert value_of(load(toml), key) == value
    assert value_of(load(toml, environment={key.variable: str(key.none_word)}), key) is None
    assert value_of(load(f"[{key.section}]\n{key.name} = {json.dumps(key.none_word)}\n"), key) is None


def test_a_flag_can_add_to_a_list(load: Load) -> None:
    flag = Flag("--no-plugin", "plugins.disable", ["b", "a"], extend=True)
    settings = load('[plugins]\ndisable = ["a"]\n', flags=[flag])
    assert settings.values.plugins.disable == ("a", "b")
    assert load(flags=[flag]).values.plugins.disable == ("b", "a")


def test_plugin_tables_are_passed_as_written(load: Load, file: Path) -> None:
    toml = """
        [plugins]
        strict = true
        [plugins.diskkv]
        max_gb = 1.5
        tiers = ["ram"]
        deep.er = 1
        [plugins.empty]
    """
    settings = load(toml, environment={"REAME_PLUGINS__DISKKV__MAX_GB": "3", "REAME_PLUGINS__NEW__DIR": "/x"})
    assert settings.values.plugins.strict
    assert settings.values.plugins.tables == {
        "diskkv": {"max_gb": 3, "tiers": ["ram"], "deep": {"er": 1}},
        "empty": {},
        "new": {"dir": "/x"},
    }
    assert str(settings.origin("plugins.diskkv.max_gb")) == "environment REAME_PLUGINS__DISKKV__MAX_GB"
    assert str(settings.origin("plugins.diskkv.tiers")) == f"file {file}"


def test_a_variable_means_the_table_in_any_spelling(load: Load) -> None:
    toml = "[plugins.Reame-Disk-KV]\nmax_gb = 1\nkept = true\n"
    settings = load(toml, environment={"REAME_PLUGINS__REAME_DISK_KV__MAX_GB": "2"})
    assert settings.values.plugins.tables == {"Reame-Disk-KV": {"max_gb": 2, "kept": True}}


def test_there_is_no_origin_of_what_is_no_setting(load: Load) -> None:
    with pytest.raises(KeyError):
        load().origin("model.thread")


def test_keys_of_the_server_are_not_shown(load: Load) -> None:
    def shown(settings: Settings) -> dict[str, object]:
        return {line.key: line.value for line in settings.shown()}

    assert shown(load())["server.api_key"] == ()
    settings = load(environment={"REAME_SERVER__API_KEY": "hush,quiet"})
    assert settings.values.server.api_key == ("hush", "quiet")
    assert shown(settings)["server.api_key"] == "set"
    with pytest.raises(ConfigError) as error:
        load('[server]\napi_key = "hush"\n')
    assert "hush" not in str(error.value)


def test_secrets_are_not_shown(load: Load) -> None:
    toml = (
        '[plugins.store]\napi_key = "hush"\nnested = [{token = "hush", port = 1}]\n'
        'url = "redis://me:hush@host:1/2"\nsite = "http://host/a:b@c"\n[sampling]\nmax_tokens = 7\n'
    )
    shown = load(toml).shown()
    by_key = {line.key: line for line in shown}
    assert "hush" not in str(shown)
    assert by_key["plugins.store.api_key"].text == "set"
    assert by_key["plugins.store.nested"].value == [{"token": "set", "port": 1}]
    assert by_key["plugins.store.url"].text == "redis://me:set@host:1/2"
    assert by_key["plugins.store.site"].text == "http://host/a:b@c"
    assert by_key["sampling.max_tokens"].text == "7"
