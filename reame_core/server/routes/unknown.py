"""Errors about routes that do not exist."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from litestar import Request, Response

from reame_core.models.wording import nearest, printable
from reame_core.server.errors import ApiError, api_error
from reame_core.server.responding import JSON, trace_of_request

if TYPE_CHECKING:
    from litestar import Litestar

    from reame_core.server.state import ServerState

AnyRequest = Request[Any, Any, Any]

_OF_PLUGINS = {"/v1/sessions": "diskkv", "/v1/warm": "diskkv"}


def no_route(server: ServerState) -> Callable[[AnyRequest, Exception], Response[bytes]]:
    """404, with the route that was probably meant; 503 as long as plugins, which come with the model, may still
    bring it. A route's own 404 is left as it is."""

    def respond(request: AnyRequest, error: Exception) -> Response[bytes]:
        if request.scope.get("route_handler") is not None:
            return respond_to(request, error)
        waiting = server.not_ready() if server.loaded is None else None
        return respond_to(request, waiting or _unknown(request))

    return respond


def _unknown(request: AnyRequest) -> ApiError:
    path = request.scope["path"]
    message = f"there is no route {request.method} {printable(path)}"
    for prefix, plugin in _OF_PLUGINS.items():
        if path == prefix or path.startswith(f"{prefix}/"):
            message += f"; it comes with the plugin {plugin!r} (the package reame-{plugin})"
            return ApiError(404, message, code="not_found")
    if hint := _hint(path, request.app):
        message += f"; did you mean {hint}?"
    return ApiError(404, message, code="not_found")


def wrong_method(request: AnyRequest, error: Exception) -> Response[bytes]:
    """405, with the methods there are."""
    path = request.scope["path"]
    methods = sorted({m for route in request.app.routes if _matches(route.path, path) for m in _methods(route)})
    message = f"{printable(path)} has no {request.method}"
    headers = {}
    if methods:
        message += f", only {' and '.join(methods)}"
        headers["allow"] = ", ".join([*methods, *(["HEAD"] if "GET" in methods else [])])
    return respond_to(request, ApiError(405, message, code="method_not_allowed", headers=headers))


def respond_to(request: AnyRequest, error: Exception) -> Response[bytes]:
    """The response that ``error`` makes."""
    trace = trace_of_request(request)
    shown = api_error(error, trace.id)
    trace.fields["error"] = shown.message
    return Response(shown.body, media_type=JSON, status_code=shown.status, headers=dict(shown.headers))


def _matches(template: str, path: str) -> bool:
    pieces = (".+" if piece.startswith("{") else re.escape(piece) for piece in template.split("/"))
    return re.fullmatch("/".join(pieces), path) is not None


def _methods(route: Any) -> list[str]:
    return [str(method) for method in getattr(route, "methods", ()) if method != "OPTIONS"]


def _hint(path: str, app: Litestar) -> str:
    known = [route.path for route in app.routes if "{" not in route.path]
    without_twice = path.replace("/v1/v1/", "/v1/", 1)
    for candidate in (without_twice, f"/v1{path}"):
        if candidate != path and candidate in known:
            return candidate
    return next(iter(nearest(path, known, most=1)), "")
