"""Errors as clients see them: always the OpenAI API's shape, never the framework's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from litestar.exceptions import HTTPException, ValidationException

from reame_core.engine.worker import EngineClosed, QueueFull
from reame_core.errors import InvalidRequest, ReameError, UsageError
from reame_core.server.wire.body import encode
from reame_core.server.wire.responses import ErrorBody, ErrorDetail

if TYPE_CHECKING:
    from reame_core.server.gateway.asgi import Send

INVALID = "invalid_request_error"
SERVER = "server_error"
CLIENT_CLOSED_REQUEST = 499
"""The status for the log of a request whose client has gone: nobody is there to read it."""


@dataclass(eq=False)
class ApiError(Exception):
    """An answer that is an error."""

    status: int
    message: str
    type: str = INVALID
    param: str | None = None
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message

    @property
    def detail(self) -> ErrorDetail:
        return ErrorDetail(self.message, self.type, self.param, self.code)

    @property
    def body(self) -> bytes:
        return encode(ErrorBody(self.detail))


def unavailable(message: str, code: str, *, retry_after: int | None) -> ApiError:
    """503: the same request may succeed later, in ``retry_after`` seconds."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return ApiError(503, message, SERVER, code=code, headers=headers)


def client_gone() -> ApiError:
    return ApiError(CLIENT_CLOSED_REQUEST, "the client has closed the connection", code="client_closed_request")


def api_error(error: Exception, request_id: str) -> ApiError:
    """What to answer for ``error``. Whatever was not raised on purpose stays in the log, under the id."""
    match error:
        case ApiError():
            return error
        case InvalidRequest():
            return ApiError(400, str(error), param=error.param, code=error.code)
        case UsageError():
            return ApiError(400, str(error))
        case QueueFull():
            return unavailable(str(error), "queue_full", retry_after=None)
        case EngineClosed():
            return unavailable(str(error), "shutting_down", retry_after=None)
        case HTTPException():
            return _of_litestar(error)
        case ReameError():
            return ApiError(500, f"{error} (request {request_id})", SERVER, code="engine_error")
        case _:
            message = f"internal error; the server's log has it under request {request_id}"
            return ApiError(500, message, SERVER, code="internal_error")


def _of_litestar(error: HTTPException) -> ApiError:
    status = error.status_code
    headers = dict(error.headers or {})
    if isinstance(error, ValidationException):
        return _of_validation(error)
    if status >= 500:
        return ApiError(status, error.detail or HTTPStatus(status).phrase, SERVER, headers=headers)
    code = {401: "invalid_api_key", 404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}
    return ApiError(status, error.detail, code=code.get(status), headers=headers)


def _of_validation(error: ValidationException) -> ApiError:
    first: Any = error.extra[0] if isinstance(error.extra, list) and error.extra else {}
    key = first.get("key") if isinstance(first, dict) else None
    message = str(first.get("message", error.detail)) if isinstance(first, dict) else error.detail
    return ApiError(400, f"{key}: {message}" if key else message, param=key)


async def send_error(error: ApiError, send: Send) -> None:
    """Answer with ``error`` as a whole response."""
    body = error.body
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in error.headers.items()),
    ]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
