"""Keys, web pages of other origins, paths, methods and sizes."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import openai
import pytest

from tests.server.support import Running, chat_body, running, settings_with

CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def locked() -> Any:
    with running(settings=settings_with(api_key=["alice:sk-alice", "sk-nameless"])) as server:
        yield server


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_a_key_is_needed(locked: Running) -> None:
    for headers in (
        {},
        bearer("wrong"),
        bearer("sk-alicex"),
        {"Authorization": "Bearer"},
        {"Authorization": "Basic sk-alice"},
    ):
        for response in (
            locked.http.post(CHAT, json=chat_body(), headers=headers),
            locked.http.get("/v1/models", headers=headers),
            locked.http.get("/nowhere", headers=headers),
        ):
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            assert response.json()["error"]["code"] == "invalid_api_key"


@pytest.mark.parametrize(
    "headers", [bearer("sk-alice"), bearer("sk-nameless"), {"authorization": "bearer  sk-alice"}]
)
def test_every_key_opens(locked: Running, headers: dict[str, str]) -> None:
    assert locked.http.get("/v1/models", headers=headers).status_code == 200


def test_with_the_openai_client(locked: Running) -> None:
    client = openai.OpenAI(base_url=f"{locked.url}/v1", api_key="sk-alice", max_retries=0)
    assert [model.id for model in client.models.list()] == ["fake"]
    stranger = openai.OpenAI(base_url=f"{locked.url}/v1", api_key="sk-bob", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        stranger.models.list()


def test_health_is_open_and_metrics_are_as_configured(locked: Running) -> None:
    assert locked.http.get("/health").status_code == 200
    assert locked.http.get("/metrics").status_code == 401
    assert locked.http.get("/metrics", headers=bearer("sk-alice")).status_code == 200
    with running(settings=settings_with(api_key=["x"], metrics="open")) as server:
        assert server.http.get("/metrics").status_code == 200
    with running(settings=settings_with(metrics="off")) as server:
        assert server.http.get("/metrics").status_code == 404


def test_case_97_preflights_need_no_key_and_errors_can_be_read() -> None:
    origin = "https://chat.example.org"
    settings = settings_with(api_key=["secret"], cors_origins=[origin])
    with running(settings=settings) as server:
        asked = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type,x-stainless-os",
        }
        preflight = server.http.options(CHAT, headers=asked)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == origin
        assert preflight.headers["access-control-allow-headers"] == asked["Access-Control-Request-Headers"]
        assert "POST" in preflight.headers["access-control-allow-methods"]
        assert "access-control-allow-credentials" not in preflight.headers
        refused = server.http.post(CHAT, json=chat_body(), headers={"Origin": origin, **bearer("wrong")})
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == origin
        assert "x-request-id" in refused.headers["access-control-expose-headers"]
        for method, path in (("GET", "/nowhere"), ("PUT", CHAT)):
            error = server.http.request(method, path, headers={"Origin": origin, **bearer("secret")})
            assert error.headers["access-control-allow-origin"] == origin
        stranger = server.http.options(CHAT, headers={**asked, "Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in stranger.headers
        assert stranger.headers["vary"] == "origin"


def test_case_97_any_origin_without_credentials() -> None:
    with running(settings=settings_with(cors_origins=["*"])) as server:
        answer = server.http.get("/v1/models", headers={"Origin": "https://anywhere.example"})
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers


def test_cross_origin_is_off_by_default(shared: Running) -> None:
    answer = shared.http.get("/v1/models", headers={"Origin": "https://x.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/v1/models/", "/v1//models", "//v1/models", "/v1///models//"])
def test_case_99_slashes_do_not_count(shared: Running, path: str) -> None:
    # As a raw path, because clients tidy URLs themselves.
    request = httpx.Request("GET", shared.url)
    request.url = httpx.URL(shared.url).copy_with(raw_path=path.encode())
    assert shared.http.send(request).json() == shared.http.get("/v1/models").json()


@pytest.mark.parametrize("path", ["/v1/chat/completions/", "/v1//chat/completions"])
def test_case_99_slashes_do_not_lose_the_body(shared: Running, path: str) -> None:
    assert shared.http.post(path, json=chat_body(max_tokens=1)).status_code == 200


@pytest.mark.parametrize(
    ("path", "meant"), [("/v1/v1/models", "/v1/models"), ("/models", "/v1/models"), ("/v1/model", "/v1/models")]
)
def test_case_99_wrong_paths_get_a_hint(shared: Running, path: str, meant: str) -> None:
    response = shared.http.get(path)
    assert response.status_code == 404
    assert f"did you mean {meant}?" in response.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/sessions/x", "/v1/warm"])
def test_routes_of_absent_plugins_name_the_plugin(shared: Running, path: str) -> None:
    assert "reame-diskkv" in shared.http.get(path).json()["error"]["message"]


@pytest.mark.parametrize("path", ["/health", "/v1/models", "/nowhere", "/metrics"])
def test_case_100_head_is_get_without_a_body(shared: Running, path: str) -> None:
    head, get = shared.http.head(path), shared.http.get(path)
    assert head.status_code == get.status_code
    assert head.content == b""
    ours = {"content-type"} if path == "/metrics" else {"content-type", "content-length"}
    assert {name: head.headers[name] for name in ours} == {name: get.headers[name] for name in ours}


def test_case_100_head_with_keys(locked: Running) -> None:
    assert locked.http.head("/v1/models").status_code == 401
    assert locked.http.head("/v1/models", headers=bearer("sk-alice")).status_code == 200


@pytest.fixture(scope="module")
def small() -> Any:
    with running(settings=settings_with(max_body_mb=0.1)) as server:
        yield server


def assert_too_large(response: httpx.Response) -> None:
    assert response.status_code == 413
    error = response.json()["error"]
    assert error["code"] == "body_too_large"
    assert "0.1 MB" in error["message"]


def test_case_98_a_large_body_with_a_length(small: Running) -> None:
    assert_too_large(small.chat("x" * 100_000))
    below = small.chat("x" * 90_000)
    assert below.json()["error"]["code"] == "context_length_exceeded"


def test_case_98_a_chunked_body_that_never_ends(small: Running) -> None:
    host, port = small.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"2710\r\n" + b"x" * 10_000 + b"\r\n"
        for _ in range(15):
            connection.sendall(piece)
        answer = b""
        while b"}" not in answer:
            answer += connection.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"body_too_large" in answer
    assert small.chat(max_tokens=1).status_code == 200


def test_case_98_bodies_above_the_framework_default() -> None:
    with running() as server:
        assert server.chat(filler="x" * 11_000_000, max_tokens=1).status_code == 200
