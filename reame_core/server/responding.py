"""Reading a body and answering with a struct."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from litestar import Response

from reame_core.server.errors import client_gone
from reame_core.server.gateway.trace import trace_of
from reame_core.server.wire.body import decode_object, encode
from reame_core.server.wire.reading import read

if TYPE_CHECKING:
    from litestar import Request

    from reame_core.server.gateway.trace import Trace

    AnyRequest = Request[Any, Any, Any]

T = TypeVar("T", bound=msgspec.Struct)
JSON = "application/json"


async def read_bytes(request: AnyRequest) -> bytes:
    """The whole body; ``BodyLimit`` sees to its size."""
    parts: list[bytes] = []
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise client_gone()
        parts.append(message["body"])
        if not message["more_body"]:
            return b"".join(parts)


async def read_struct(request: AnyRequest, kind: type[T]) -> tuple[T, dict[str, Any], int]:
    """The body as a ``kind``, the fields left over, and how many bytes it had. Raises InvalidRequest."""
    body = await read_bytes(request)
    struct, left_over = read(kind, decode_object(body))
    return struct, left_over, len(body)


def trace_of_request(request: AnyRequest) -> Trace:
    """What the gateway knows of ``request``."""
    return trace_of(cast("Any", request.scope))


def respond(struct: msgspec.Struct, status: int = 200, **headers: str) -> Response[bytes]:
    """``struct`` as JSON."""
    return Response(encode(struct), media_type=JSON, status_code=status, headers=headers)
