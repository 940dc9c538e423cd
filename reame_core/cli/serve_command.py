"""``reame serve``: the OpenAI-compatible server."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from reame_core.cli.manual import Command
from reame_core.cli.models.completion import complete_model
from reame_core.cli.models.environment import DOWNLOADS
from reame_core.cli.options import (
    model_options,
    plugin_options,
    plugin_selection,
    sampling_options,
    server_options,
    settings_of,
)
from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from reame_core.config import Settings
    from reame_core.session import Session


@click.command(
    cls=Command,
    short_help="Serve a model over HTTP.",
    environment=DOWNLOADS,
    examples=[
        ("reame serve smollm2-135m", "for this machine, at http://127.0.0.1:8080/v1"),
        ("reame serve smollm2-135m --host 0.0.0.0 --keys-file keys.txt", "for others, with keys"),
    ],
)
@click.argument("model", required=False, shell_complete=complete_model)
@server_options
@model_options
@sampling_options
@plugin_options
@click.pass_context
def serve(ctx: click.Context, *, model: str | None) -> None:
    """Serve MODEL to any client of the OpenAI API: a name of the catalogue, a path to a GGUF file,
    hf:ORG/REPO[:FILE] or an address. A model that is not here is fetched first.

    Without MODEL it is that of the setting model.path. SIGTERM or Ctrl-C lets running requests finish; a second
    one ends at once.
    """
    serve_model(settings_of(ctx), model)


def serve_model(settings: Settings, model: str | None) -> None:
    """Serve until the process is told to stop. Raises UsageError for whatever the user can mend."""
    model = model or settings.values.model.path
    if model is None:
        raise ConfigError("no model: name one after serve, or set model.path")
    from reame_core.cli.terminal import note
    from reame_core.server.serve import serve as serve_http

    serve_http(settings, partial(_open, settings, model), note)


def _open(settings: Settings, model: str, progress: Callable[[str], None]) -> AbstractContextManager[Session]:
    from reame_core.cli.models.fetching import bring_here
    from reame_core.session import open_session

    bring_here(settings, model, progress)
    return open_session(settings, model, parallel=None, progress=progress, selection=plugin_selection(settings))
