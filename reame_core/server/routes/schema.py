"""GET /schema: the OpenAPI document, made from the routes there are, those of plugins included.

A handler says what it reads and answers with ``body=`` and ``response=`` (msgspec structs), and with
``stream=`` what the events of its stream are.
"""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Request, Response, get
from litestar.routes import HTTPRoute

from reame_core.server.responding import JSON
from reame_core.server.wire.body import encode
from reame_core.server.wire.responses import ErrorBody

if TYPE_CHECKING:
    from litestar import Litestar
    from litestar.handlers import HTTPRouteHandler

    from reame_core.server.state import ServerState

Document = dict[str, Any]

_REFERENCE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_ERRORS = {
    "400": "Something about the request is wrong; `param` says what.",
    "401": "No key, or not one of this server's.",
    "404": "No such route or model.",
    "413": "The body is larger than `server.max_body_mb`.",
    "500": "The server's fault; its log has the request's id.",
    "503": "Not now: starting, shutting down, or too many requests wait.",
    "504": "It took longer than `server.request_timeout_s`.",
}


def schema_routes(server: ServerState) -> list[HTTPRouteHandler]:
    @get(["/schema", "/schema/openapi.json"], operation_id="schema", tags=["Server"])
    async def schema(request: Request[Any, Any, Any]) -> Response[bytes]:
        """This document."""
        document = openapi_document(request.app, keys=bool(server.keys))
        return Response(encode(document), media_type=JSON, status_code=200)

    return [schema]


def openapi_document(app: Litestar, *, keys: bool) -> Document:
    """OpenAPI 3.1."""
    routes = [route for route in app.routes if isinstance(route, HTTPRoute)]
    structs: set[type] = {ErrorBody}
    paths: Document = {}
    for route in sorted(routes, key=lambda route: route.path):
        item = _path_item(route, structs)
        if item:
            paths[_PARAMETER.sub(r"{\1}", route.path)] = item
    ordered = sorted(structs, key=lambda struct: struct.__name__)
    _, components = msgspec.json.schema_components(ordered, ref_template=_REFERENCE)
    document: Document = {
        "openapi": "3.1.0",
        "info": {"title": "Reame", "version": version("reame"), "description": "An OpenAI-compatible server."},
        "paths": paths,
        "components": {"schemas": components},
    }
    if keys:
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
    return document


def _path_item(route: HTTPRoute, structs: set[type]) -> Document:
    operations: Document = {}
    for handler in route.route_handlers:
        for method in handler.http_methods if handler.resolve_include_in_schema() else ():
            if method != "OPTIONS":
                operations[str(method).lower()] = _operation(handler, structs)
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name, _ in _PARAMETER.findall(route.path)
    ]
    return {**operations, **({"parameters": parameters} if operations and parameters else {})}


def _operation(handler: HTTPRouteHandler, structs: set[type]) -> Document:
    body, response, stream = (handler.opt.get(name) for name in ("body", "response", "stream"))
    structs.update(struct for struct in (body, response, stream) if struct is not None)
    content: Document = {JSON: {"schema": _reference(response)}} if response is not None else {}
    if stream is not None:
        # OpenAPI has no word for what the single events of a stream are.
        content["text/event-stream"] = {"schema": {}, "x-event": _reference(stream)}
    ok: Document = {"description": "Success.", **({"content": content} if content else {})}
    failed = {"content": {JSON: {"schema": _reference(ErrorBody)}}}
    operation: Document = {
        "operationId": handler.operation_id or handler.handler_name,
        "summary": (handler.fn.__doc__ or "").strip().split("\n")[0],
        "responses": {"200": ok} | {code: {"description": text, **failed} for code, text in _ERRORS.items()},
    }
    if handler.tags:
        operation["tags"] = sorted(handler.tags)
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": _reference(body)}}}
    return operation


def _reference(struct: type | None) -> Document:
    return {} if struct is None else {"$ref": _REFERENCE.format(name=struct.__name__)}
