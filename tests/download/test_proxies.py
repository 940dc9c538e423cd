"""Requests go through the proxies of the environment, and secrets only where they belong."""

from __future__ import annotations

import re

import pytest

from reame_core.errors import ConfigError, ModelError
from reame_core.models.download.pull import pull
from reame_core.models.sources.web import WebSource
from tests.download.file_server import (
    FileServer,
    refuse,
)
from tests.download.puller import Puller


# case 123
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_case_123_proxies_are_used_for_every_request(
    puller: Puller, cdn: FileServer, model: bytes, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # nobody knows these hosts: what went out directly would fail
    proxy = cdn
    proxy.files["/m.gguf"] = model
    proxy.misdeeds[:] = [refuse(302, location="http://elsewhere.invalid/m.gguf")]
    monkeypatch.setenv(variable, proxy.url.replace("http://", "http://ada:pw%40x@"))
    pulled = pull("m", WebSource("http://models.invalid/m.gguf"), puller.folder, web=puller.web)
    assert pulled.path.read_bytes() == model
    assert [request.target for request in proxy.requests] == [
        "http://models.invalid/m.gguf",
        "http://elsewhere.invalid/m.gguf",
    ]
    assert {request.headers["proxy-authorization"] for request in proxy.requests} == {"Basic YWRhOnB3QHg="}


def test_case_123_no_proxy_for_some_hosts(
    puller: Puller, cdn: FileServer, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", cdn.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert puller().path.read_bytes() == model
    assert cdn.requests == []


def test_case_123_https_goes_through_the_proxy_too(
    puller: Puller, cdn: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", cdn.url)
    with pytest.raises(ModelError, match="the proxy refuses"):
        pull("m", WebSource("https://models.invalid/m.gguf"), puller.folder, web=puller.web)
    assert cdn.requests[0].method == "CONNECT"
    assert cdn.requests[0].target == "models.invalid:443"


@pytest.mark.parametrize("proxy", ["socks5://u:secret@h:1", "ftp://u:secret@h", "http://u:secret@h:port"])
def test_case_123_a_proxy_that_cannot_be_used(
    puller: Puller, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(ConfigError, match=r"must be an address such as http://HOST:PORT") as caught:
        puller()
    assert "secret" not in str(caught.value)


def test_a_password_in_an_address_is_sent_and_not_shown(puller: Puller, cdn: FileServer, model: bytes) -> None:
    cdn.files["/m.gguf"] = model
    puller.server.misdeeds[:] = [refuse(302, location=f"{cdn.url}/m.gguf?key=other")]
    url = puller.server.url.replace("http://", "http://ada:secret@") + "/m.gguf?key=hidden"
    pull("m", WebSource(url), puller.folder, web=puller.web, progress=puller.told)
    assert puller.server.requests[0].headers["authorization"].startswith("Basic ")
    assert "authorization" not in cdn.requests[0].headers
    written = "".join(
        path.read_text() for path in puller.folder.path.rglob("*") if path.is_file() and path.suffix != ".gguf"
    )
    assert not re.search("secret|hidden|other", written)
