"""The plugin: one command. It has no part in serving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.hookspecs import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def register_commands(cli: click.Group) -> None:
    from reame_bench.commands import bench

    cli.add_command(bench)
