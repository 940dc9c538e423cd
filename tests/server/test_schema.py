"""The OpenAPI document says what the server does."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from reame_core.server.wire.requests import ChatRequest
from tests.server.support import Running, chat_body, running, settings_with


@pytest.fixture(scope="module")
def document(shared: Running) -> dict[str, Any]:
    answer: dict[str, Any] = shared.http.get("/schema").json()
    assert shared.http.get("/schema/openapi.json").json() == answer
    return answer


def test_every_route_is_there(document: dict[str, Any]) -> None:
    assert set(document["paths"]) == {
        "/health",
        "/metrics",
        "/status",
        "/schema",
        "/schema/openapi.json",
        "/tokenize",
        "/detokenize",
        "/v1/models",
        "/v1/models/{name}",
        "/v1/reame/plugins",
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/embeddings",
    }
    identifiers = [
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
    ]
    assert len(set(identifiers)) >= len(identifiers) - 1  # /schema has two addresses


def test_references_lead_somewhere(document: dict[str, Any]) -> None:
    text = msgspec.json.encode(document).decode()
    schemas = document["components"]["schemas"]
    for name in re.findall(r'"\$ref":"#/components/schemas/([^"]+)"', text):
        assert name in schemas


def test_every_parameter_is_described(document: dict[str, Any]) -> None:
    described = document["components"]["schemas"]["ChatRequest"]["properties"]
    assert set(described) == {field.encode_name for field in msgspec.structs.fields(ChatRequest)}


def test_nothing_is_loaded_from_elsewhere(shared: Running) -> None:
    assert "http" not in re.sub(r"https://[a-z.]*example[^ \"]*", "", shared.http.get("/schema").text).replace(
        '"type":"http"', ""
    )


def test_keys_are_part_of_it() -> None:
    with running(settings=settings_with(api_key=["k"])) as server:
        document = server.http.get("/schema", headers={"Authorization": "Bearer k"}).json()
        assert document["security"] == [{"key": []}]


def test_answers_are_as_described(shared: Running, document: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schemas = document["components"]["schemas"]
    root = {"components": {"schemas": schemas}}

    def check(value: Any, name: str) -> None:
        jsonschema.validate(value, root | {"$ref": f"#/components/schemas/{name}"})

    check(shared.chat(logprobs=True, top_logprobs=1).json(), "ChatCompletion")
    check(shared.complete(logprobs=1).json(), "Completion")
    for chunk in shared.chunks("/v1/chat/completions", chat_body(stream_options={"include_usage": True})):
        check(chunk, "ChatChunk")
    check(shared.http.get("/nowhere").json(), "ErrorBody")
    check(shared.http.get("/health").json(), "Health")
    check(shared.http.get("/status").json(), "Status")


def test_every_refusal_of_an_answer_is_described(document: dict[str, Any]) -> None:
    responses = document["paths"]["/v1/chat/completions"]["post"]["responses"]
    assert {"400", "401", "404", "413", "500", "503", "504"} <= set(responses)
