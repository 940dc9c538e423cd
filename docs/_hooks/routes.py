"""Writes ``<!-- routes -->`` of a page out as the server's routes and bodies, from its own OpenAPI document."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

MARK = "<!-- routes -->"

Schema = dict[str, Any]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return markdown.replace(MARK, routes_page()) if MARK in markdown else markdown


def routes_page() -> str:
    """The routes of a server without plugins, then every body that they read or answer."""
    document = _document()
    lines = ["## Routes\n", "| | | reads | answers |", "|---|---|---|---|"]
    for path, item in document["paths"].items():
        lines += [_route(path, method, item[method]) for method in item if method != "parameters"]
    lines.append("\n## Bodies\n")
    for name, schema in document["components"]["schemas"].items():
        lines += _body(name, schema)
    return "\n".join(lines)


def _document() -> Schema:
    from reame_core.config import load_settings
    from reame_core.server.api_keys import configured_keys
    from reame_core.server.app import create_app
    from reame_core.server.routes.schema import openapi_document
    from reame_core.server.state import ServerState

    settings = load_settings(environment={"REAME_HOME": "/nonexistent"})
    app = create_app(ServerState(settings, configured_keys(settings.values.server)))
    return openapi_document(app, keys=False)


def _route(path: str, method: str, operation: Schema) -> str:
    reads = _content(operation.get("requestBody", {}))
    answers = _content(operation["responses"]["200"])
    return f"| `{method.upper()} {path}` | {html.escape(operation['summary'])} | {reads} | {answers} |"


def _content(body: Schema) -> str:
    found = []
    for kind, content in body.get("content", {}).items():
        schema = content.get("x-event") or content["schema"]
        found.append(_type(schema) + (" in a stream" if kind == "text/event-stream" else ""))
    return ", ".join(found)


def _body(name: str, schema: Schema) -> Iterator[str]:
    yield f"### `{name}`\n"
    if schema.get("description"):
        yield f"{html.escape(schema['description'])}\n"
    if "properties" not in schema:
        yield f"{_type(schema)}\n"
        return
    yield "| field | | default |\n|---|---|---|"
    required = set(schema.get("required", ()))
    for field, each in schema["properties"].items():
        default = "needed" if field in required else f"`{json.dumps(each.get('default'), ensure_ascii=False)}`"
        yield f"| `{field}` | {_type(each)} | {default} |"
    yield ""


def _type(schema: Schema) -> str:
    """In words."""
    if not schema:
        return "anything"
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[`{name}`](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"object of {_type(inner)}" if isinstance(inner, dict) and inner else "object"
    return str(schema.get("type", "anything"))
