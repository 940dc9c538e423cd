"""``reame completion``: what a shell has to be told so that it completes commands, options and names."""

from __future__ import annotations

import os
from pathlib import PurePath

import click

from reame_core.cli.manual import Command
from reame_core.cli.terminal import write
from reame_core.errors import InvalidRequest

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_REAME_COMPLETE"
"""Set by the shell when it asks ``reame`` for completions."""


@click.command(
    cls=Command,
    short_help="Print the completion of a shell.",
    environment=[("SHELL", "the shell, where none is named")],
    examples=[
        ('eval "$(reame completion bash)"', "in ~/.bashrc"),
        ('eval "$(reame completion zsh)"', "in ~/.zshrc"),
        ("reame completion fish > ~/.config/fish/completions/reame.fish", "once"),
    ],
)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, *, shell: str | None) -> None:
    """Print a script that makes SHELL complete commands, options and names of models. Without SHELL it is for
    the one that you use."""
    from click.shell_completion import get_completion_class

    shell = shell or PurePath(os.environ.get("SHELL", "")).name
    found = get_completion_class(shell) if shell in SHELLS else None
    if found is None:
        raise InvalidRequest(f"name the shell: {', '.join(SHELLS)} are known", param="shell")
    root = ctx.find_root()
    write(found(root.command, {}, root.info_name or "reame", VARIABLE).source() + "\n")
