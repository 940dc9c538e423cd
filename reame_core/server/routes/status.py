"""GET /health, /v1/models and /metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Request, Response, get
from msgspec import UNSET

from reame_core.server.errors import ApiError
from reame_core.server.metrics import CONTENT_TYPE
from reame_core.server.plugin_conditions import conditions_of
from reame_core.server.responding import respond
from reame_core.server.wire.plugins import PluginConditions
from reame_core.server.wire.responses import Health, ModelCard, ModelList

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from reame_core.server.state import ServerState


_FRESH = {"cache-control": "no-store"}


def status_routes(server: ServerState) -> list[HTTPRouteHandler]:
    @get("/health", tags=["Server"], response=Health)
    async def health() -> Response[bytes]:
        """200 while requests are served; 503 while the model is loaded and while the server shuts down."""
        error = server.not_ready()
        name = server.loaded.info.name if server.loaded is not None else None
        body = Health(server.phase.value, name, UNSET if error is None else error.detail)
        return respond(body, 200) if error is None else respond(body, error.status, **dict(error.headers))

    @get("/v1/models", operation_id="listModels", tags=["OpenAI"], response=ModelList)
    async def models() -> Response[bytes]:
        """The model that is served, by all its names."""
        server.ready()
        return respond(ModelList(data=[_card(server, name) for name in server.names]))

    @get("/v1/models/{name:path}", operation_id="retrieveModel", tags=["OpenAI"], response=ModelCard)
    async def model(request: Request[Any, Any, Any]) -> Response[bytes]:
        """One model."""
        server.ready()
        name = str(request.path_params["name"]).removeprefix("/")
        server.check_name(name)
        return respond(_card(server, name))

    @get("/v1/reame/plugins", operation_id="listPlugins", tags=["Server"], response=PluginConditions)
    async def plugins() -> Response[bytes]:
        """The plugins: how they do, what each hook costs, and which requests they helped."""
        return respond(conditions_of(server.ready().plugins, server.plugin_help), 200, **_FRESH)

    @get("/metrics", tags=["Server"])
    async def metrics() -> Response[bytes]:
        """Counters for Prometheus."""
        if server.settings.metrics == "off":
            raise ApiError(404, "there are no metrics here (server.metrics is off)", code="not_found")
        return Response(server.metrics.exposition(), headers={"content-type": CONTENT_TYPE}, status_code=200)

    return [health, models, model, plugins, metrics]


def _card(server: ServerState, name: str) -> ModelCard:
    length = server.ready().worker.engine.options.context_length
    return ModelCard(id=name, created=server.started_at, max_model_len=length)
