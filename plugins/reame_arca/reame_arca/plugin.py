"""The hooks. What they need is imported when an engine starts, so that ``reame --help`` answers at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from reame_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_arca.service import Service
    from reame_core.plugins.api import Metric, PluginContext

log = logging.getLogger("reame.plugins.arca")

NAME = "arca"


class Arca:
    """The plugin. One engine at a time."""

    def __init__(self) -> None:
        self.service: Service | None = None
        """What runs for the engine that is started; None without one, or where no store is named."""

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Read the options and connect in the background. Raises ConfigError."""
        from reame_arca.options import read_options
        from reame_arca.service import Service

        options = read_options(context.options)
        if options.url is None:
            log.info("nothing is shared: plugins.arca.url names no store")
            return
        self.service = Service.start(options, context)

    @hookimpl
    def shutdown(self) -> None:
        """Write what waits and hang up."""
        service, self.service = self.service, None
        if service is not None:
            service.close()

    @hookimpl
    def metrics(self) -> Sequence[Metric] | None:
        """What was shared, and how the store is."""
        return self.service.metrics() if self.service is not None else None
