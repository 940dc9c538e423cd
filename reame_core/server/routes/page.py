"""GET / and /status: a page for people, and the figures that it asks for."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from litestar import Response, get

from reame_core.server.errors import ApiError
from reame_core.server.responding import respond
from reame_core.server.wire.responses import KvCells, LoadedModel, PluginState, Status, Work

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from reame_core.server.history import Totals
    from reame_core.server.state import ServedModel, ServerState

_INLINE = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)


def page_routes(server: ServerState) -> list[HTTPRouteHandler]:
    text = files("reame_core.server").joinpath("status.html").read_text(encoding="utf-8")
    body, headers = text.encode(), _headers(text)

    @get("/", tags=["Server"], include_in_schema=False)
    async def page() -> Response[bytes]:
        """The status page."""
        _check(server)
        return Response(body, media_type="text/html", headers=headers, status_code=200)

    @get("/status", tags=["Server"], response=Status)
    async def status() -> Response[bytes]:
        """What is loaded, how busy it is, and how much was remembered instead of computed."""
        _check(server)
        return respond(_status(server), 200, **{"cache-control": "no-store"})

    return [page, status]


def _check(server: ServerState) -> None:
    if server.settings.metrics == "off":
        raise ApiError(404, "there is no status page here (server.metrics is off)", code="not_found")


def _headers(text: str) -> dict[str, str]:
    """The page's own style and script may run, nothing else, and nothing may be loaded from anywhere else."""
    digests = {
        kind: base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        for kind, content in _INLINE.findall(text)
    }
    policy = (
        f"default-src 'none'; style-src 'sha256-{digests['style']}'; script-src 'sha256-{digests['script']}';"
        " connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }


def _status(server: ServerState) -> Status:
    metrics = server.metrics
    return Status(
        status=server.phase.value,
        version=version("reame"),
        tokens_per_second=round(metrics.throughput.rate(), 2),
        work=[_work(at, totals) for at, totals in metrics.history.points()],
        model=None if server.loaded is None else _model(server.loaded),
    )


def _work(at: float, totals: Totals) -> Work:
    return Work(
        at=round(at, 1),
        computed=totals.computed,
        reused=totals.reused,
        generated=totals.generated,
        drafted=totals.drafted,
        accepted=totals.accepted,
        seconds_avoided=round(totals.seconds_avoided, 3),
    )


def _model(model: ServedModel) -> LoadedModel:
    engine = model.worker.engine
    ledger = engine.memory.ledger
    return LoadedModel(
        name=model.info.name,
        description={name: str(value) for name, value in model.description.items()},
        plugins=[PluginState(report.name, report.state) for report in model.plugins.report()],
        kv_cells=KvCells(ledger.capacity, ledger.used),
        running=len(engine.memory.active),
        waiting=engine.waiting,
        compute_seconds=round(engine.cost.milliseconds / 1000, 3),
    )
