"""``reame rm``: models off this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reame_core.cli.manual import Command
from reame_core.cli.models.completion import complete_model_here
from reame_core.cli.models.environment import FOLDERS
from reame_core.cli.options import plugin_options, settings_of
from reame_core.cli.terminal import note, one_line, write
from reame_core.errors import ModelError

if TYPE_CHECKING:
    from reame_core.models.catalogue import Catalogue


@click.command("rm", cls=Command, short_help="Remove models from this machine.", environment=FOLDERS)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", shell_complete=complete_model_here)
@plugin_options
@click.pass_context
def remove(ctx: click.Context, *, models: tuple[str, ...]) -> None:
    """Remove each MODEL from the models folder, with all its parts and what is here of an unfinished download.

    Only names are taken, and the source a model was fetched from; files elsewhere are nobody's business but
    yours.
    """
    from reame_core.cli.models.names import catalogue_of
    from reame_core.host.memory import byte_count

    catalogue = catalogue_of(settings_of(ctx))
    # All of them are looked at before the first is removed.
    names = [_name(model, catalogue) for model in models]
    for name in names:
        with catalogue.folder.lock(name, lambda: note("waiting for the process that is fetching it")):
            freed = catalogue.folder.remove(name)
        write(f"removed {one_line(name)} ({byte_count(freed)})\n")


def _name(model: str, catalogue: Catalogue) -> str:
    """The name in the models folder. Raises ModelError where there is nothing that can be removed."""
    from reame_core.models.catalogue import find_entry
    from reame_core.models.sources import PackageSource

    folder = catalogue.folder
    if folder.find(model) is not None or folder.parts(model):
        return model
    entry = find_entry(model, catalogue)
    if entry.name and folder.find(entry.name) is not None:
        return entry.name
    shown = one_line(entry.name or entry.source.reference)
    if isinstance(entry.source, PackageSource) and entry.source.file() is not None:
        raise ModelError(f"{shown} is part of a Python package: pip uninstall {entry.source.distribution}")
    raise ModelError(f"{shown} is not in the models folder, so there is nothing to remove")
