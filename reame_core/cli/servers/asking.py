"""Questions to a running server."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from reame_core.errors import InvalidRequest, ReameError

if TYPE_CHECKING:
    import httpx2

    from reame_core.config import Settings

PATIENCE_S = 5.0


class ServerError(ReameError):
    """A server that does not answer, or not what was asked."""


def reachable(address: str) -> str:
    """The address at which a server of this machine that listens at ``address`` is reached, without a slash at
    its end. Raises InvalidRequest for what is no address."""
    text = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in ("http", "https"):
        raise InvalidRequest(
            f"{address!r} is not the address of a server, such as 127.0.0.1:8080", param="address"
        )
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        ip = None
    if ip is not None and ip.is_unspecified:
        local = "127.0.0.1" if ip.version == 4 else "[::1]"
        parts = parts._replace(netloc=local if port is None else f"{local}:{port}")
    # People copy the address that clients use.
    return urlunsplit(parts._replace(path=parts.path.rstrip("/").removesuffix("/v1"), query="", fragment=""))


def ask(address: str, path: str, key: str | None = None) -> httpx2.Response:
    """The answer of the server at ``address``, whatever its status. Raises ServerError where there is none."""
    import httpx2

    headers = {"authorization": f"Bearer {key}"} if key else {}
    # A proxy has no business between this machine and itself.
    direct = is_local(address)
    try:
        with httpx2.Client(timeout=PATIENCE_S, trust_env=not direct) as client:
            return client.get(address + path, headers=headers)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        raise ServerError(f"no server answers at {address} ({reason})") from None


def only_server() -> str:
    """The address of the one server of this user on this machine. Raises InvalidRequest where there is none or
    where there are several."""
    from reame_core.running import running_servers

    servers = running_servers()
    if len(servers) == 1:
        return reachable(servers[0].address)
    if not servers:
        raise InvalidRequest("no server of this user runs here: give the address of one", param="address")
    addresses = ", ".join(server.address for server in servers)
    raise InvalidRequest(f"{len(servers)} servers run here: say which, {addresses}", param="address")


def own_key(settings: Settings) -> str | None:
    """The first of the server's own keys, which are this user's."""
    from reame_core.server.api_keys import key_texts

    return next(iter(key_texts(settings.values.server).values()), None)


def is_local(address: str) -> bool:
    """Whether ``address`` is this machine's own."""
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
