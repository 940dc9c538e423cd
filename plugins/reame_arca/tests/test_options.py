"""The table ``[plugins.arca]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reame_arca.options import read_options
from reame_arca.plugin import Arca

from reame_core.errors import ConfigError
from reame_core.plugins.api import ApiRequest, PluginContext
from reame_core.testing import FakeBackend

URL = "redis://127.0.0.1"


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"url": "http://x"}, "must begin with redis://"),
        ({"url": "127.0.0.1"}, "must begin with redis://"),
        ({"url": "redis://x:99999"}, "must name a port"),
        ({"urls": URL}, "has no setting 'urls'; did you mean 'url'"),
        ({"timeout_ms": 0}, "timeout_ms"),
        ({"prefix": "a:b"}, "prefix"),
        ({"secret": "short"}, "secret"),
        ({"secret_file": "/nonexistent"}, "cannot be read"),
        ({"password": "a", "password_file": "b"}, "exclude each other"),
        ({"cluster": True, "url": "unix:///run/x"}, "must name a host and a port where"),
        ({"cluster": True, "url": URL + "/3"}, "must name a host and a port where"),
        ({"cluster": True, "sentinels": ["a:1"]}, "exclude each other"),
        ({"sentinels": ["a"]}, "must hold HOST:PORT"),
        ({"answers": "perhaps"}, "answers must be true or false"),
    ],
)
def test_wrong_options_say_what_to_mend(table: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        read_options({"url": URL, **table})


def test_texts_of_the_environment_are_read() -> None:
    options = read_options({"url": URL, "timeout_ms": "5", "answers": "false"})
    assert (options.timeout_ms, options.answers) == (5, False)


def test_secrets_come_from_files_as_well(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a secret that nobody guesses\n")
    (tmp_path / "word").write_text("word\n")
    options = read_options(
        {"url": URL, "secret_file": str(tmp_path / "key"), "password_file": str(tmp_path / "word")}
    )
    assert options.read_secret() == b"a secret that nobody guesses"
    assert options.read_password() == "word"
    (tmp_path / "key").write_text("short")
    with pytest.raises(ConfigError, match="at least 16 characters, not 5"):
        read_options({"url": URL, "secret_file": str(tmp_path / "key")})


@pytest.mark.parametrize(
    ("url", "shown", "read"),
    [
        ("redis://user:word@host:1/2", "redis://host:1/2", "redis://user:word@host:1/2"),
        ("valkeys://:word@host", "valkeys://host", "rediss://:word@host"),
        ("unix:///run/valkey.sock", "unix:///run/valkey.sock", "unix:///run/valkey.sock"),
    ],
)
def test_addresses_are_shown_without_passwords(url: str, shown: str, read: str) -> None:
    options = read_options({"url": url})
    assert (options.address, options.client_url) == (shown, read)


def test_without_a_store_the_plugin_does_nothing() -> None:
    plugin = Arca()
    plugin.startup(PluginContext(FakeBackend().info, {}))
    assert plugin.service is None
    assert plugin.metrics() is None
    served = plugin.serve_fields(ApiRequest("chat", {"reame.arca": False}, 1, False))
    assert served is not None
    assert served.fields == {"reame.arca"}, "a client need not know whether there is a store"
    plugin.shutdown()
