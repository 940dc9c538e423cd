"""POST /tokenize and /detokenize, as llama.cpp's server and vLLM have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Request, Response, post

from reame_core.errors import InvalidRequest
from reame_core.models.messages import checked_texts
from reame_core.models.prompt import chat_tokens, raw_tokens
from reame_core.server.generation.logprobs import TokenTexts
from reame_core.server.generation.prompts import text_of
from reame_core.server.generation.run import prepared_off_loop
from reame_core.server.generation.token_fields import check_token_fields
from reame_core.server.responding import read_struct, respond
from reame_core.server.wire.requests import DetokenizeRequest, TokenizeRequest
from reame_core.server.wire.responses import Text, Tokens

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from reame_core.server.state import ServedModel, ServerState


def token_routes(server: ServerState) -> list[HTTPRouteHandler]:
    @post("/tokenize", status_code=200, tags=["Tokens"], body=TokenizeRequest, response=Tokens)
    async def tokenize(request: Request[Any, Any, Any]) -> Response[bytes]:
        """The tokens of a text or of a whole conversation."""
        model = server.ready()
        asked, left_over, size = await read_struct(request, TokenizeRequest)
        check_token_fields(left_over)
        tokens = await prepared_off_loop(lambda: _tokens(model, asked), body_bytes=size, plugins=False)
        shown: list[Any] = list(tokens)
        if asked.with_pieces:
            texts = TokenTexts(model.worker.engine.backend)
            shown = [{"id": token, "piece": texts.text(token)} for token in tokens]
        return respond(Tokens(shown, len(tokens), model.worker.engine.options.context_length))

    @post("/detokenize", status_code=200, tags=["Tokens"], body=DetokenizeRequest, response=Text)
    async def detokenize(request: Request[Any, Any, Any]) -> Response[bytes]:
        """The text of tokens."""
        model = server.ready()
        asked, left_over, _ = await read_struct(request, DetokenizeRequest)
        check_token_fields(left_over)
        size = model.info.vocabulary_size
        if not all(0 <= token < size for token in asked.tokens):
            raise InvalidRequest(f"tokens holds ids outside 0 to {size - 1}", param="tokens")
        text = text_of(model.worker.engine.backend, tuple(asked.tokens))
        return respond(Text(text, text))

    return [tokenize, detokenize]


def _tokens(model: ServedModel, asked: TokenizeRequest) -> tuple[int, ...]:
    backend = model.worker.engine.backend
    if asked.messages is not None:
        return chat_tokens(backend, model.template, asked.messages)
    text = asked.content if asked.content is not None else asked.prompt
    if text is None:
        raise InvalidRequest("content is missing", param="content")
    if asked.parse_special:
        checked_texts(text, "content")
        tokens = tuple(backend.tokenize(text, parse_special=True))
        bos = backend.info.bos
        return (bos, *tokens) if asked.add_special and backend.info.adds_bos and bos is not None else tokens
    tokens = raw_tokens(backend, text)
    beginning = int(backend.info.adds_bos and backend.info.bos is not None)
    return tokens if asked.add_special else tokens[beginning:]
