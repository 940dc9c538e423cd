"""A client for the Valkey or Redis that the options name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel

from reame_arca.packing import Packer
from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from reame_arca.options import Options

    Client = redis.Redis | redis.RedisCluster

OF_A_CLUSTER = "is one of a cluster: set plugins.arca.cluster = true"

_LEAST_CONNECTIONS = 64
"""More than there are threads that ask: nobody ever waits for a connection."""


def connect(options: Options, timeout_s: float) -> Client:
    """A client whose answers may take ``timeout_s``; connections are made when they are needed, except to a
    cluster. Raises ConfigError for an address that makes no sense, and what the client raises."""
    settings = _settings(options, timeout_s)
    try:
        if options.sentinels:
            return _by_sentinels(options, settings)
        if options.cluster:
            return redis.RedisCluster.from_url(options.client_url, **settings)
        return redis.Redis.from_url(options.client_url, **settings)
    except ValueError as error:
        raise ConfigError(f"plugins.arca.url: {error}") from None


def _settings(options: Options, timeout_s: float) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "socket_timeout": timeout_s,
        # Where it takes longer than somebody waits, the next one finds the connection made.
        "socket_connect_timeout": max(timeout_s, options.patience_ms / 1000),
        "max_connections": _LEAST_CONNECTIONS,
        # A second attempt is a second wait.
        "retry": Retry(NoBackoff(), 0),
        # Nothing of RESP3 is needed, and RESP2 needs no handshake.
        "protocol": 2,
        "driver_info": None,
        "command_packer": Packer(),
    }
    if options.username is not None:
        settings["username"] = options.username
    if (password := options.read_password()) is not None:
        settings["password"] = password
    if options.client_url.startswith("rediss:"):
        files = {
            "ssl_ca_certs": options.ca_file,
            "ssl_certfile": options.cert_file,
            "ssl_keyfile": options.key_file,
        }
        settings |= {name: file for name, file in files.items() if file is not None}
        settings["redis_connect_func"] = _ping if options.cluster else _connected
    return settings


def _connected(connection: Any) -> None:
    connection.on_connect()
    _ping(connection)


def _ping(connection: Any) -> None:
    """What TLS sends by itself behind its handshake comes before an answer: the client, which would take it for
    the remains of another one, has read it then."""
    connection.send_command("PING", check_health=False)
    connection.read_response()


def _by_sentinels(options: Options, settings: dict[str, Any]) -> Client:
    named: dict[str, Any] = dict(parse_url(options.client_url))  # type: ignore[no-untyped-call]
    for known in ("host", "port", "path"):
        named.pop(known, None)
    if named.pop("connection_class", None) is not None:
        named["ssl"] = True
    addresses = [
        (host, int(port)) for host, _, port in (each.rpartition(":") for each in options.sentinels or ())
    ]
    limits = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), settings["socket_timeout"])
    sentinel: Any = Sentinel(addresses, sentinel_kwargs=limits)  # type: ignore[no-untyped-call]
    client: redis.Redis = sentinel.master_for(options.service, **named | settings)
    return client
