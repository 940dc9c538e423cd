"""What the whole server shares: its settings, the model once it is loaded, and the requests under way."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping
from enum import Enum
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from reame_core.server.api_keys import ApiKeys
from reame_core.server.engine_metrics import EngineCollector
from reame_core.server.errors import ApiError, unavailable
from reame_core.server.metrics import Metrics
from reame_core.server.pace import Pace
from reame_core.server.plugin_help import PluginHelp

if TYPE_CHECKING:
    from reame_core.config import Settings
    from reame_core.engine.backend import ModelInfo
    from reame_core.engine.worker import EngineWorker
    from reame_core.models.chat_template import ChatTemplate
    from reame_core.plugins.manager import PluginManager
    from reame_core.server.generation.exchange import Exchange

_SOON = 2
"""Seconds after which to ask a server again that is starting."""


class ServedModel(Protocol):
    """A loaded model: what ``reame_core.session`` opens."""

    @property
    def worker(self) -> EngineWorker: ...
    @property
    def plugins(self) -> PluginManager: ...
    @property
    def template(self) -> ChatTemplate: ...
    @property
    def description(self) -> Mapping[str, object]: ...
    @property
    def info(self) -> ModelInfo: ...


class Phase(Enum):
    """A server goes through these in order."""

    STARTING = "starting"
    READY = "ok"
    DRAINING = "draining"


class ServerState:
    """Belongs to the event loop. ``settings`` are all settings there are, ``keys`` those of the clients."""

    def __init__(self, settings: Settings, keys: ApiKeys | None = None) -> None:
        self.settings = settings.values.server
        self.sampling = settings.values.sampling
        configured = settings.origin("sampling.temperature").kind != "default"
        self.temperature = self.sampling.temperature if configured else 1.0
        """Where a request names none: the OpenAI API's 1, unless somebody configured another one."""
        self.keys = keys or ApiKeys()
        self.metrics = Metrics()
        self.plugin_help = PluginHelp()
        self.pace = Pace(time.monotonic)
        self.phase = Phase.STARTING
        self.exchanges: set[Exchange] = set()
        """Requests for generation under way."""
        self.exchange_closed = asyncio.Event()
        """Set whenever one of them has ended."""
        self.started_at = int(time.time())
        self.fingerprint = ""
        self._model: ServedModel | None = None

    def open_paths(self) -> frozenset[str]:
        """Paths that need no key. The page at ``/`` is one: it holds nothing of this server, and what it shows
        comes from ``/status``."""
        figures = ("/metrics", "/status") if self.settings.metrics == "open" else ()
        return frozenset({"/", "/health", *figures})

    def model_loaded(self, model: ServedModel) -> None:
        """From now on requests are served."""
        self._model = model
        described = repr((version("reame"), model.info.name, sorted(model.description.items(), key=str)))
        self.fingerprint = f"fp_{hashlib.sha256(described.encode()).hexdigest()[:10]}"
        self.metrics.add(EngineCollector(model))
        if self.phase is Phase.STARTING:
            self.phase = Phase.READY

    @property
    def loaded(self) -> ServedModel | None:
        """The model, whatever the phase."""
        return self._model

    def ready(self) -> ServedModel:
        """The model for a new request. Raises ApiError while there is none, or none any more."""
        error = self.not_ready()
        if error is not None or self._model is None:
            raise error or unavailable("the model is still being loaded", "starting", retry_after=_SOON)
        return self._model

    def not_ready(self) -> ApiError | None:
        """Why no request is taken."""
        if self.phase is Phase.STARTING:
            return unavailable("the model is still being loaded", "starting", retry_after=_SOON)
        if self.phase is Phase.DRAINING:
            return unavailable("the server is shutting down", "shutting_down", retry_after=None)
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the model that requests may use, its own first."""
        return (self.ready().info.name, *self.settings.aliases)

    def check_name(self, name: str) -> None:
        """Raise ApiError unless ``name`` is the model's."""
        if name not in self.names and not self.settings.any_model:
            served = " and ".join(repr(known) for known in self.names)
            raise ApiError(
                404,
                f"there is no model {name!r} here; served is {served}",
                param="model",
                code="model_not_found",
            )

    def tenant(self, key_name: str) -> str:
        """Whose remembered prefixes a caller shares."""
        return key_name if self.settings.isolate_keys else ""
