"""The socket that the server listens on: taken before the model is loaded, so that a second server on the
same port finds out at once."""

from __future__ import annotations

import errno
import ipaddress
import socket
from typing import TYPE_CHECKING

from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from reame_core.config.schema import ServerSettings

_BACKLOG = 1024
_REASONS = {
    errno.EADDRINUSE: "another program listens there; choose another port with --port (0: any free one)",
    errno.EACCES: "this user may not use that port; choose one of 1024 and above with --port",
    errno.EADDRNOTAVAIL: "it is no address of this machine; choose another one with --host",
    errno.EAFNOSUPPORT: "this machine has no such kind of address; choose another one with --host",
}


def listen(settings: ServerSettings) -> socket.socket:
    """A listening socket. Raises ConfigError, in one line, where that is impossible."""
    host, port = settings.host, settings.port
    shown = url_host(host) + f":{port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise ConfigError(f"cannot listen on {shown}: the name {host!r} is not known (server.host)") from None
    family, kind, protocol, _, address = found[0]
    try:
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _refusal(shown, error) from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. Head and body of a response are two writes: without it the second would wait.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _drop_dead_peers(listener, settings.reader_timeout_s)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _refusal(shown, error) from None
    return listener


def _drop_dead_peers(listener: socket.socket, seconds: float) -> None:
    """Connections inherit this: a peer that has vanished or reads nothing is given up by the kernel."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Twice as long as the server itself waits, which has an error to send.
        milliseconds = min(int(2000 * seconds), 2**31 - 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


def _refusal(shown: str, error: OSError) -> ConfigError:
    reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
    return ConfigError(f"cannot listen on {shown}: {reason}")


def check_reach(settings: ServerSettings, *, has_keys: bool) -> None:
    """Raise ConfigError for an address that other machines reach while anybody may use the server."""
    if has_keys or settings.allow_public or is_loopback(settings.host):
        return
    raise ConfigError(
        f"{settings.host} is reachable from other machines and no key is set: set server.api_key or"
        " server.keys_file, listen on 127.0.0.1, or allow everybody with --allow-public-without-key"
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches ``host``."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def address_of(listener: socket.socket, host: str) -> str:
    """The base URL, with the port that was really taken."""
    return f"http://{url_host(host)}:{listener.getsockname()[1]}"


def url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
