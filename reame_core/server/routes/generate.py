"""POST /v1/chat/completions and /v1/completions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from litestar import Request, post
from litestar.types import ASGIApp

from reame_core.errors import InvalidRequest
from reame_core.server.generation.chat_reply import ChatChunks, chat_completion
from reame_core.server.generation.completion_reply import CompletionChunks, text_completion
from reame_core.server.generation.fields import asks_for_plugins
from reame_core.server.generation.preparation import prepare_chat, prepare_completion
from reame_core.server.generation.reply import new_head
from reame_core.server.generation.run import answer, prepared_off_loop
from reame_core.server.responding import read_struct, trace_of_request
from reame_core.server.wire.requests import ChatRequest, CompletionRequest
from reame_core.server.wire.responses import ChatChunk, ChatCompletion, Completion

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from reame_core.server.state import ServerState


def generate_routes(server: ServerState) -> list[HTTPRouteHandler]:
    @post(
        "/v1/chat/completions",
        status_code=200,
        operation_id="createChatCompletion",
        tags=["OpenAI"],
        body=ChatRequest,
        response=ChatCompletion,
        stream=ChatChunk,
    )
    async def chat_completions(request: Request[Any, Any, Any]) -> ASGIApp:
        """Continue a conversation."""
        model = server.ready()
        chat, left_over, size = await read_struct(request, ChatRequest)
        server.check_name(chat.model)
        prepare = partial(prepare_chat, server, model, chat, left_over, _tenant(server, request))
        prepared = await prepared_off_loop(prepare, body_bytes=size, plugins=asks_for_plugins(left_over))
        _log_texts(server, request, chat.messages)
        head = new_head(server, model, "chatcmpl")
        return await answer(
            server,
            model,
            prepared,
            request,
            prompt_field="messages",
            chunks=ChatChunks(head, prepared),
            whole=partial(chat_completion, head),
        )

    @post(
        "/v1/completions",
        status_code=200,
        operation_id="createCompletion",
        tags=["OpenAI"],
        body=CompletionRequest,
        response=Completion,
        stream=Completion,
    )
    async def completions(request: Request[Any, Any, Any]) -> ASGIApp:
        """Continue a text."""
        model = server.ready()
        completion, left_over, size = await read_struct(request, CompletionRequest)
        server.check_name(completion.model)
        prepare = partial(prepare_completion, server, model, completion, left_over, _tenant(server, request))
        prepared = await prepared_off_loop(prepare, body_bytes=size, plugins=asks_for_plugins(left_over))
        _log_texts(server, request, completion.prompt)
        head = new_head(server, model, "cmpl")
        return await answer(
            server,
            model,
            prepared,
            request,
            prompt_field="prompt",
            chunks=CompletionChunks(head, prepared),
            whole=partial(text_completion, head),
        )

    @post("/v1/embeddings", status_code=200, operation_id="createEmbedding", tags=["OpenAI"])
    async def embeddings(request: Request[Any, Any, Any]) -> ASGIApp:
        """Not served: the models that can be loaded generate text."""
        name = server.ready().info.name
        raise InvalidRequest(f"the model {name!r} generates text, it cannot make embeddings", param="model")

    return [chat_completions, completions, embeddings]


def _tenant(server: ServerState, request: Request[Any, Any, Any]) -> str:
    return server.tenant(trace_of_request(request).key_name)


def _log_texts(server: ServerState, request: Request[Any, Any, Any], prompt: object) -> None:
    if server.settings.log_prompts:
        trace_of_request(request).fields["text"] = prompt
