"""The application: routes, their errors, and the layers around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from litestar import Litestar, Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException

from reame_core.errors import ReameError
from reame_core.server.errors import ApiError
from reame_core.server.gateway import gateway
from reame_core.server.routes.generate import generate_routes
from reame_core.server.routes.page import page_routes
from reame_core.server.routes.schema import schema_routes
from reame_core.server.routes.status import status_routes
from reame_core.server.routes.tokens import token_routes
from reame_core.server.routes.unknown import no_route, respond_to, wrong_method

if TYPE_CHECKING:
    from reame_core.server.state import ServerState

log = structlog.get_logger("reame.http")


def create_app(server: ServerState) -> Litestar:
    """An ASGI application that serves ``server``: at once, be its model loaded or not."""
    app = Litestar(
        route_handlers=[
            *status_routes(server),
            *page_routes(server),
            *generate_routes(server),
            *token_routes(server),
            *schema_routes(server),
        ],
        exception_handlers={
            NotFoundException: no_route(server),
            MethodNotAllowedException: wrong_method,
            Exception: _respond_to,
        },
        openapi_config=None,
        logging_config=None,
        # The gateway has a limit of its own.
        request_max_body_size=None,
    )
    app.asgi_handler = gateway(app.asgi_handler, server)
    return app


def _respond_to(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    if not isinstance(error, ApiError | ReameError | HTTPException):
        log.error("request failed", exc_info=error)
    return respond_to(request, error)
