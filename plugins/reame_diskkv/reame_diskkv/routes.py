"""``/v1/warm`` and ``/v1/sessions``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ParamSpec, TypeVar

import msgspec
from litestar import Request as HttpRequest
from litestar import delete, get, post
from litestar.exceptions import ClientException, HTTPException
from litestar.params import FromPath
from msgspec import Meta, Struct

from reame_core.engine.events import Event, Finished
from reame_core.engine.request import Request
from reame_core.errors import EngineError, InvalidRequest
from reame_core.plugins.api import ServerAccess
from reame_diskkv.service import Service
from reame_diskkv.session_files import Session
from reame_diskkv.sessions import NoRoom, Sessions
from reame_diskkv.warming import warm_request

AnyRequest = HttpRequest[Any, Any, Any]

Body = TypeVar("Body", bound=Struct)
Answer = TypeVar("Answer")
P = ParamSpec("P")

_FLUSH_SECONDS = 120.0
_TAGS = ["Disk cache"]


class Text(Struct):
    """A conversation or a text."""

    messages: list[dict[str, Any]] | None = None
    prompt: str | None = None


class NewSession(Struct):
    """What a session begins with."""

    title: Annotated[str, Meta(max_length=200)] = ""


class Warmed(Struct):
    """A prompt that is on disk."""

    tokens: int
    computed_tokens: int
    stored_tokens: int
    blocks: int
    """That hold the prompt."""
    blocks_written: int
    """Of these, by this request."""
    object: str = "warm"


class SessionObject(Struct):
    """A session as clients see it."""

    id: str
    title: str
    created: int
    saved: int | None
    tokens: int
    object: str = "session"


class SessionList(Struct):
    """All sessions of one key."""

    data: list[SessionObject]
    object: str = "list"


class Saved(Struct):
    """What ``save`` and ``load`` did."""

    id: str
    tokens: int
    computed_tokens: int
    """Had to be computed for this."""
    stored_tokens: int
    """Are on disk."""
    object: str = "session"


class Deleted(Struct):
    """A session that is gone."""

    id: str
    deleted: bool = True
    object: str = "session.deleted"


def make_routes(server: ServerAccess, service: Service) -> Sequence[object]:
    """The route handlers."""
    sessions = service.sessions()
    work = _Work(server, service, sessions)

    @post("/v1/warm", status_code=200, operation_id="warm", tags=_TAGS)
    async def warm(request: AnyRequest) -> Warmed:
        """Compute a prompt when nobody else is there, and keep it on disk."""
        tokens = work.tokens(await _read(request, Text))
        tenant = server.tenant(request)
        root = service.root(tenant)
        _, before = await asyncio.to_thread(sessions.stored, root, tokens)
        computed = await work.compute(warm_request(tokens, tenant))
        await work.flush()
        stored, blocks = await asyncio.to_thread(sessions.stored, root, tokens)
        return Warmed(len(tokens), computed, stored, len(blocks), len(blocks - before))

    @post("/v1/sessions", status_code=200, operation_id="createSession", tags=_TAGS)
    async def create(request: AnyRequest) -> SessionObject:
        """Begin a session."""
        wanted = await _read(request, NewSession)
        return _shown(await _with_room(sessions.create, server.caller(request), wanted.title))

    @get("/v1/sessions", operation_id="listSessions", tags=_TAGS)
    async def list_all(request: AnyRequest) -> SessionList:
        """The sessions of this key, the latest first."""
        found = await asyncio.to_thread(sessions.all_of, server.caller(request))
        return SessionList([_shown(session) for session in found])

    @get("/v1/sessions/{session_id:str}", operation_id="getSession", tags=_TAGS)
    async def get_one(request: AnyRequest, session_id: FromPath[str]) -> SessionObject:
        """One session."""
        return _shown(await work.session(request, session_id))

    @delete("/v1/sessions/{session_id:str}", status_code=200, operation_id="deleteSession", tags=_TAGS)
    async def delete_one(request: AnyRequest, session_id: FromPath[str]) -> Deleted:
        """Forget a session. Its text may stay on disk as long as other texts do."""
        if not await asyncio.to_thread(sessions.delete, server.caller(request), session_id):
            raise _no_session()
        return Deleted(session_id)

    @post(
        "/v1/sessions/{session_id:str}/save", status_code=200, operation_id="saveSession", tags=["Disk cache"]
    )
    async def save(request: AnyRequest, session_id: FromPath[str]) -> Saved:
        """Keep a conversation on disk until it is saved again or deleted."""
        session = await work.session(request, session_id)
        tokens = work.tokens(await _read(request, Text))
        tenant = server.tenant(request)
        computed = await work.compute(warm_request(tokens, tenant, background=False))
        await work.flush()
        stored = await _with_room(sessions.save, session, service.root(tenant), tokens)
        return Saved(session_id, len(tokens), computed, stored)

    @post(
        "/v1/sessions/{session_id:str}/load", status_code=200, operation_id="loadSession", tags=["Disk cache"]
    )
    async def load(request: AnyRequest, session_id: FromPath[str]) -> Saved:
        """Bring a saved conversation into memory, so that the next request with it begins at once."""
        session = await work.session(request, session_id)
        tenant = server.tenant(request)
        if not session.encoded or session.root != service.root(tenant):
            what = "was never saved" if not session.encoded else "was saved for another model or other settings"
            raise InvalidRequest(f"this session {what}", param="session_id")
        stored, _ = await asyncio.to_thread(sessions.stored, session.root, session.tokens)
        computed = await work.compute(warm_request(session.tokens, tenant, background=False))
        return Saved(session_id, session.length, computed, stored)

    return [warm, create, list_all, get_one, delete_one, save, load]


class _Work:
    """What several routes do."""

    def __init__(self, server: ServerAccess, service: Service, sessions: Sessions) -> None:
        self._server = server
        self._service = service
        self._sessions = sessions

    def tokens(self, text: Text) -> tuple[int, ...]:
        if (text.messages is None) == (text.prompt is None):
            raise InvalidRequest("give either messages or prompt", param="messages")
        if text.messages is not None:
            return self._server.chat_tokens(text.messages)
        if not text.prompt:
            raise InvalidRequest("prompt is empty: give at least one character of text", param="prompt")
        return self._server.raw_tokens(text.prompt)

    async def compute(self, request: Request) -> int:
        """Compute a prompt; how many of its tokens nobody remembered."""
        return sum(_computed(event) for event in await self._server.run(request))

    async def flush(self) -> None:
        if not await asyncio.to_thread(self._service.flush, _FLUSH_SECONDS):
            raise EngineError("what was computed is not on disk yet: the writer is behind")

    async def session(self, request: AnyRequest, session_id: str) -> Session:
        found = await asyncio.to_thread(self._sessions.get, self._server.caller(request), session_id)
        if found is None:
            raise _no_session()
        return found


async def _with_room(action: Callable[P, Answer], *arguments: P.args, **named: P.kwargs) -> Answer:
    """What ``action`` answers on a thread; 507 where it finds no room, which is no use trying again."""
    try:
        return await asyncio.to_thread(action, *arguments, **named)
    except NoRoom as error:
        headers = {"x-should-retry": "false"}
        raise HTTPException(detail=str(error), status_code=507, headers=headers) from error


def _computed(event: Event) -> int:
    return event.usage.computed if isinstance(event, Finished) else 0


def _no_session() -> ClientException:
    return ClientException("there is no such session", status_code=404)


async def _read(request: AnyRequest, kind: type[Body]) -> Body:
    """The body as a ``kind``; an empty one is an empty object. Raises InvalidRequest."""
    try:
        return msgspec.json.decode(await request.body() or b"{}", type=kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        param = where.rstrip("`").partition("[")[0] or None
        raise InvalidRequest(f"{param or 'the body'}: {what[:1].lower()}{what[1:]}", param=param) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"the body is no JSON: {error}") from None


def _shown(session: Session) -> SessionObject:
    saved = int(session.saved) if session.saved is not None else None
    return SessionObject(session.id, session.title, int(session.created), saved, session.length)
