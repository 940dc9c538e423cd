"""Names of models for the shell's completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.errors import ReameError

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def complete_model(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names that begin with ``incomplete``; the shell itself completes paths."""
    return _names(incomplete, only_here=False)


def complete_model_here(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The same, of models that are in the models folder."""
    return _names(incomplete, only_here=True)


def _names(incomplete: str, *, only_here: bool) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from reame_core.cli.models.names import catalogue_of
    from reame_core.config import load_settings

    if "/" in incomplete or incomplete.startswith((".", "~")):
        return [CompletionItem(incomplete, type="file")]
    try:
        catalogue = catalogue_of(load_settings())
        names = catalogue.folder.models() if only_here else catalogue.all()
        entries = catalogue.all()
    except ReameError:  # an error would be written into the middle of the command line
        return []
    return [
        CompletionItem(name, help=entries[name].facts.suits or "")
        for name in names
        if name.startswith(incomplete)
    ]
