"""``reame plugins``: which plugins there are, and what became of each."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from reame_core.cli.manual import Group
from reame_core.cli.options import plugin_options, plugin_selection, settings_of
from reame_core.cli.plugins_doctor_command import doctor
from reame_core.cli.table import write_table
from reame_core.cli.terminal import write

if TYPE_CHECKING:
    from reame_core.plugins.report import PluginReport


@click.group(
    cls=Group,
    invoke_without_command=True,
    short_help="List the plugins.",
    examples=[
        ("reame plugins", "what was found, and what became of each"),
        ("reame plugins doctor", "whether they get along, what they cost and whom they help"),
    ],
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@plugin_options
@click.pass_context
def plugins(ctx: click.Context, *, as_json: bool) -> None:
    """List the plugins that are found: version, the hooks they are asked at, state and why."""
    if ctx.invoked_subcommand is not None:
        return
    from reame_core.plugins.built_in import BUILT_IN_PLUGINS
    from reame_core.plugins.manager import PluginManager

    settings = settings_of(ctx)
    manager = PluginManager(plugin_selection(settings), builtins=BUILT_IN_PLUGINS)
    manager.check_tables(settings.values.plugins.tables)
    reports = manager.report()
    if as_json:
        write(json.dumps([asdict(report) for report in reports], ensure_ascii=False, indent=2) + "\n")
    else:
        write_table(
            ("NAME", "VERSION", "STATE", "HOOKS", "SOURCE", "WHY"), [_row(report) for report in reports]
        )


plugins.add_command(doctor)


def _row(report: PluginReport) -> tuple[str, ...]:
    version = " ".join(part for part in (report.distribution, report.version) if part)
    return (report.name, version, report.state, ", ".join(report.hooks), report.source, report.why)
