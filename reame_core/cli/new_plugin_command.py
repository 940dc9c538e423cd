"""``reame new-plugin``: a package to start from."""

from __future__ import annotations

from pathlib import Path

import click

from reame_core.cli.manual import Command
from reame_core.cli.terminal import note, write


@click.command(
    "new-plugin",
    cls=Command,
    short_help="Write a new plugin package.",
    examples=[
        ("reame new-plugin my-drafter --kind drafter", "into the folder reame-my-drafter"),
        ("cd reame-my-drafter && pip install -e '.[test]' && pytest", "it works from the start"),
    ],
)
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(("drafter", "cache", "judge", "source", "routes")),
    required=True,
    help="drafter: propose tokens; cache: keep KV cells; judge: choose among answers; source: name models; "
    "routes: add to the server.",
)
@click.option(
    "--into", metavar="DIR", default=".", help="The folder to write the package into (default: here)."
)
def new_plugin(name: str, *, kind: str, into: str) -> None:
    """Write a package with a working plugin called NAME, typed, with tests that hold it to Reame's laws."""
    from importlib.metadata import version

    from reame_core.scaffold import KINDS, PluginName, write_plugin

    plugin = PluginName.parse(name)
    paths = write_plugin(plugin, KINDS[kind], Path(into), reame=version("reame"))
    write("".join(f"{path}\n" for path in paths))
    note(f"next: cd {Path(into) / plugin.distribution} && pip install -e '.[test]' && pytest")
