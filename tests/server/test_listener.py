"""The address: taken or refused, in one line."""

from __future__ import annotations

import socket

import pytest

from reame_core.errors import ConfigError
from reame_core.server.api_keys import configured_keys
from reame_core.server.banner import banner
from reame_core.server.listener import address_of, check_reach, is_loopback, listen
from reame_core.server.state import ServerState
from reame_core.testing import FakeBackend
from tests.server.support import FakeModel, settings_with


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("192.0.2.1", "cannot listen on 192.0.2.1:0: it is no address of this machine"),
        ("no.such.host.invalid", "the name 'no.such.host.invalid' is not known"),
        ("x" * 300, "is not known"),
    ],
)
def test_case_131_an_address_that_is_not_ours(host: str, message: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.host|--host") as caught:
        listen(settings_with(host=host, port=0).values.server)
    assert message in str(caught.value)


def test_case_131_two_on_one_port() -> None:
    with listen(settings_with(port=0).values.server) as first:
        port = first.getsockname()[1]
        assert address_of(first, "127.0.0.1") == f"http://127.0.0.1:{port}"
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: another program"):
            listen(settings_with(port=port).values.server)


def test_dead_peers_are_given_up() -> None:
    with listen(settings_with(port=0, reader_timeout_s=3).values.server) as listener:
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 6000


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "::1"])
def test_loopback_needs_no_key(host: str) -> None:
    assert is_loopback(host)
    check_reach(settings_with(host=host).values.server, has_keys=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "myhost", "fe80::1%eth0"])
def test_a_public_address_needs_a_key_or_a_flag(host: str) -> None:
    with pytest.raises(ConfigError, match="no key is set"):
        check_reach(settings_with(host=host).values.server, has_keys=False)
    check_reach(settings_with(host=host).values.server, has_keys=True)
    check_reach(settings_with(host=host, allow_public=True).values.server, has_keys=False)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({}, "none (only this machine can connect)"),
        ({"host": "0.0.0.0"}, "NONE, AND OTHER MACHINES CAN CONNECT"),
        ({"api_key": ["a"]}, "1"),
        ({"api_key": ["a", "b"]}, "2, sharing one cache"),
        ({"api_key": ["a", "b"], "isolate_keys": True}, "2, each with a cache of its own"),
    ],
)
def test_the_banner_says_who_may_come_in(values: dict[str, object], shown: str) -> None:
    model = FakeModel(FakeBackend())
    settings = settings_with(**values)
    lines = banner(ServerState(settings, configured_keys(settings.values.server)), model, "http://x:1", 1.0)
    assert any(line.split() == ["keys", *shown.split()] for line in lines)
    model.close()
