"""The command ``reame`` and its subcommands."""

from __future__ import annotations

import click

from reame_core.cli.completion_command import completion
from reame_core.cli.config_command import config
from reame_core.cli.doctor_command import doctor
from reame_core.cli.group import ReameGroup
from reame_core.cli.models.list_command import list_models
from reame_core.cli.models.pull_command import pull
from reame_core.cli.models.rm_command import remove
from reame_core.cli.models.show_command import show
from reame_core.cli.new_plugin_command import new_plugin
from reame_core.cli.plugins_command import plugins
from reame_core.cli.run_command import run
from reame_core.cli.serve_command import serve
from reame_core.cli.servers.ps_command import ps
from reame_core.cli.servers.stats_command import stats

EPILOG = """\b
Environment:
  REAME_SECTION__KEY  any setting, such as REAME_MODEL__THREADS=2
  REAME_PLUGINS       the only plugins to use, such as diskkv,conclave; empty for none
  REAME_CONFIG        the settings file, instead of ./reame.toml or the user's
  REAME_HOME          the folder for settings, models, state and cache
  REAME_DEBUG=1       show the traceback of an error
"""


@click.group(cls=ReameGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(package_name="reame", prog_name="reame", message="%(prog)s %(version)s")
def reame() -> None:
    """Answers from language models on the CPU, never computing the same thing twice."""


reame.add_command(run)
reame.add_command(serve)
reame.add_command(doctor)
reame.add_command(ps)
reame.add_command(stats)
reame.add_command(list_models)
reame.add_command(pull)
reame.add_command(show)
reame.add_command(remove)
reame.add_command(plugins)
reame.add_command(new_plugin)
reame.add_command(config)
reame.add_command(completion)
