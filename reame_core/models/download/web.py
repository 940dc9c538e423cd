"""Servers: requests that follow redirects without giving a token away, what their refusals mean, and when to
try again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar

from reame_core.errors import ConfigError, ModelError
from reame_core.models.download.progress import Progress, Silent
from reame_core.models.download.remote import shown_url
from reame_core.models.wording import printable

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_MOST_REDIRECTS = 10
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that another request may not get."""


class TryAgain(Exception):
    """A failure that may pass. ``after`` is what the server asks to wait, in seconds."""

    def __init__(self, what: str, after: float | None = None) -> None:
        super().__init__(what)
        self.after = after


@dataclass(frozen=True, slots=True)
class Web:
    """How to talk to servers. ``sleep`` and ``now`` (seconds since 1970) can be those of a test.

    Proxies and certificates are those of the environment (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, …)."""

    attempts: int = 6
    """In a row, without any progress between them."""
    first_wait_s: float = 1.0
    """Doubled with each attempt."""
    longest_wait_s: float = 300.0
    """A server that asks for a longer pause is left alone."""
    timeout_s: float = 30.0
    """Silence after which a server counts as gone."""
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time
    progress: Progress = field(default_factory=Silent)

    def telling(self, progress: Progress) -> Web:
        """The same, with ``progress`` told about waits."""
        return replace(self, progress=progress)

    @contextmanager
    def client(self) -> Iterator[httpx2.Client]:
        """A client for one download. Raises ConfigError for a proxy that cannot be used."""
        import httpx2

        timeout = httpx2.Timeout(self.timeout_s, connect=min(15.0, self.timeout_s))
        try:
            client = httpx2.Client(timeout=timeout, follow_redirects=False)
        except (ValueError, ImportError, httpx2.InvalidURL):
            # The text of the exception may hold the password of the proxy.
            raise ConfigError(
                "the proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY cannot be used: it must be an address such "
                "as http://HOST:PORT"
            ) from None
        with client:
            yield client

    def retrying(self, action: Callable[[], T], subject: str) -> T:
        """The result of ``action``, tried again after TryAgain. Raises ModelError when patience is at its
        end."""
        patience = Patience(self, subject)
        while True:
            try:
                return action()
            except TryAgain as failure:
                patience.wait(failure)


class Patience:
    """How often and how long to wait for a server in trouble."""

    def __init__(self, web: Web, subject: str) -> None:
        self._web = web
        self._subject = subject
        self._failures = 0

    def renew(self) -> None:
        """There has been progress."""
        self._failures = 0

    def wait(self, failure: TryAgain) -> None:
        """Until the next attempt. Raises ModelError where there shall be none."""
        web = self._web
        self._failures += 1
        subject = printable(self._subject)
        if self._failures >= web.attempts:
            raise ModelError(
                f"{subject}: {failure}, {web.attempts} times in a row: check the connection and try again later"
            )
        pause = max(web.first_wait_s * 2 ** (self._failures - 1), failure.after or 0)
        if pause > web.longest_wait_s:
            raise ModelError(f"{subject}: {failure}, and to come back in {_duration(pause)}: try again then")
        web.progress.say(
            f"{subject}: {failure}; trying again in {_duration(pause)} ({self._failures} of {web.attempts - 1})"
        )
        web.sleep(pause)


@contextmanager
def opened(
    client: httpx2.Client, url: str, headers: dict[str, str], web: Web, subject: str
) -> Iterator[httpx2.Response]:
    """The answer to a GET, after redirects, with its body still to be read: statuses 200, 206 and 416 alone.

    The ``Authorization`` header stays with the host it is for. Raises TryAgain or ModelError."""
    import httpx2

    try:
        request = client.build_request("GET", url, headers=headers)
        for _ in range(_MOST_REDIRECTS + 1):
            response = client.send(request, stream=True)
            if response.next_request is None:
                break
            response.close()
            _check_redirect(request.url, response.next_request.url, subject)
            request = response.next_request
        else:
            raise ModelError(f"{printable(subject)} is redirected in a circle: check the address")
    except httpx2.TimeoutException:
        raise TryAgain(f"no answer from {_host(url)} within {web.timeout_s:g} s") from None
    except httpx2.ProxyError as error:
        raise TryAgain(f"the proxy refuses ({printable(error)})") from None
    except httpx2.TransportError as error:
        raise TryAgain(f"no connection to {_host(url)} ({printable(error) or type(error).__name__})") from None
    except (httpx2.InvalidURL, httpx2.HTTPError, ValueError, UnicodeError) as error:
        raise ModelError(f"{printable(shown_url(url))} cannot be fetched: {printable(error)}") from None
    try:
        if response.status_code not in (200, 206, 416):
            raise refusal(response, subject, now=web.now())
        yield response
    finally:
        response.close()


def refusal(response: httpx2.Response, subject: str, *, now: float | None = None) -> Exception:
    """What to raise for a status that is no success. ``now`` is seconds since 1970."""
    status, host, subject = response.status_code, response.request.url.host, printable(subject)
    if status in _PASSING:
        pause = retry_after(response.headers.get("retry-after"), time.time() if now is None else now)
        what = "too many requests" if status == 429 else "in trouble"
        asks = " and asks to wait" if pause else ""
        return TryAgain(f"{host} is {what} (status {status}){asks}", pause)
    if status in (401, 403):
        return ModelError(
            f"{host} does not let this user have {subject} (status {status}): accept its licence on its page "
            "if it has one, and set HF_TOKEN to a token that may read it"
        )
    if status in (404, 410):
        return ModelError(f"{host} has no {subject} (status {status}): check the name or the address")
    if status == 407:
        return ModelError(f"the proxy asks for a password (status {status}): put it into HTTPS_PROXY")
    return ModelError(f"{host} refuses {subject} (status {status})")


def retry_after(value: str | None, now: float) -> float | None:
    """The seconds that a ``Retry-After`` header asks for: a number or a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)


def _check_redirect(start: httpx2.URL, target: httpx2.URL, subject: str) -> None:
    if target.scheme not in ("http", "https"):
        raise ModelError(
            f"{printable(subject)} is redirected to {printable(target.scheme)}:, which is no web address"
        )
    if start.scheme == "https" and target.scheme == "http":
        raise ModelError(
            f"{printable(subject)} is redirected from https to http at {printable(target.host)}, where "
            "anybody on the way could change it"
        )


def _host(url: str) -> str:
    return printable(shown_url(url).split("/")[2])


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
