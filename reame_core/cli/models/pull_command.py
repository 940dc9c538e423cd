"""``reame pull``: a model onto this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reame_core.cli.manual import Command
from reame_core.cli.models.completion import complete_model
from reame_core.cli.models.environment import DOWNLOADS
from reame_core.cli.options import plugin_options, settings_of
from reame_core.cli.terminal import write
from reame_core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command(
    cls=Command,
    short_help="Fetch a model.",
    examples=[
        ("reame pull qwen2.5-0.5b", "a name of the catalogue"),
        ("reame pull hf:ORG/REPO:Q8_0", "a repository of the hub, and which of its files"),
        ("reame pull https://HOST/NAME.gguf", "any web server"),
    ],
    environment=DOWNLOADS,
)
@click.argument("model", shell_complete=complete_model)
@click.option("--name", metavar="NAME", help="What to call it here.")
@click.option("--force", is_flag=True, help="Fetch it again even if it is here.")
@plugin_options
@click.pass_context
def pull(ctx: click.Context, *, model: str, name: str | None, force: bool) -> None:
    """Fetch MODEL into the models folder: a name of the catalogue, hf:ORG/REPO[@REVISION][:FILE] or an address.

    What was interrupted goes on where it ended. The file is compared with the checksum that the hub or the
    catalogue has, and is in its place only when it is whole. All parts of a split model come. Two processes
    that want the same model fetch it once. The path goes to standard output, everything else to standard error.
    """
    from reame_core.cli.models.fetching import fetch
    from reame_core.cli.models.names import catalogue_of
    from reame_core.models.catalogue import check_name, find_entry
    from reame_core.models.sources import RemoteSource

    settings = settings_of(ctx)
    if name is not None:
        _checked(name, check_name)
    catalogue = catalogue_of(settings)
    entry = find_entry(model, catalogue)
    if not isinstance(entry.source, RemoteSource):
        path = catalogue.here(entry)
        if path is None:
            raise InvalidRequest(f"{entry.name} cannot be fetched: {entry.source.remedy}", param="model")
        write(f"{path}\n")
        return
    write(f"{fetch(entry, entry.source, catalogue, name=name, again=force)}\n")


def _checked(name: str, check: Callable[[str], None]) -> None:
    try:
        check(name)
    except ValueError as error:
        raise InvalidRequest(f"--name: {error}", param="name") from None
