"""``reame doctor``: what this machine is, what is fastest on it, and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from reame_core.cli.manual import Command
from reame_core.cli.models.completion import complete_model
from reame_core.cli.models.environment import DOWNLOADS
from reame_core.cli.options import model_options, plugin_options, settings_of
from reame_core.cli.table import write_table
from reame_core.cli.terminal import note, one_line, write

if TYPE_CHECKING:
    from reame_core.doctor.report import Facts


@click.command(
    cls=Command,
    short_help="Look at this machine, and try what is fastest on it.",
    environment=DOWNLOADS,
    examples=[
        ("reame doctor", "the machine and the build of llama.cpp"),
        ("reame doctor smollm2-135m", "and how to run this model here"),
    ],
)
@click.argument("model", required=False, shell_complete=complete_model)
@click.option("--quick", is_flag=True, help="Try only what Reame chooses from.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@model_options
@plugin_options
@click.pass_context
def doctor(ctx: click.Context, *, model: str | None, quick: bool, as_json: bool) -> None:
    """Look at this machine and the build of llama.cpp. With MODEL, try how to run it here: weight layouts,
    threads, batch sizes, attention, KV types, waiting. What is tried may crash; that is a finding.

    The fastest safe choice is remembered for this machine, model and build, as at a first start.
    """
    from reame_core.config.directories import directories
    from reame_core.doctor.examination import examine_host, examine_model
    from reame_core.doctor.report import as_data, host_facts, model_facts, trial_rows

    settings = settings_of(ctx)
    places = directories()
    host = examine_host({"models": places.models, "caches": places.cache, "archives": places.state})
    patient = None
    if model is not None:
        from reame_core.cli.models.fetching import bring_here
        from reame_core.cli.models.names import catalogue_of
        from reame_core.models.catalogue import resolve

        bring_here(settings, model)
        found = resolve(model, catalogue_of(settings))
        patient = examine_model(settings, found, host.machine, thorough=not quick, progress=note)
    if as_json:
        write(json.dumps(as_data(host, patient), ensure_ascii=False, indent=2) + "\n")
        return
    _section("This machine", host_facts(host), host.remarks)
    if patient is not None:
        write("\n")
        write_table(("TRIED", "TOKENS/S", "PROMPT TOKENS/S", ""), trial_rows(patient))
        write("\n")
        _section(patient.name, model_facts(patient), patient.remarks)


def _section(title: str, facts: Facts, remarks: list[str]) -> None:
    width = max(len(name) for name, _ in facts)
    lines = [title, *(f"  {name:<{width}}  {one_line(text)}" for name, text in facts)]
    lines += [f"  ! {one_line(remark)}" for remark in remarks]
    write("".join(line + "\n" for line in lines))
