"""Help pages that say what a manual page would: environment, files, exit status and examples too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

Lines = Sequence[tuple[str, str]]

EVERYWHERE: Lines = (
    ("REAME_CONFIG", "the settings file, instead of ./reame.toml or the user's"),
    ("REAME_DEBUG=1", "show the traceback of an error"),
)
STATUSES: Lines = (
    ("0", "all is well"),
    ("1", "something failed that is not the caller's fault"),
    ("2", "the request, a setting or a model cannot be used as given"),
    ("130", "interrupted"),
    ("141", "nobody reads the output any more"),
)


class SettingOption(click.Option):
    """An option that is the setting ``section.name``, and so has a variable."""

    def __init__(self, *arguments: Any, setting: str, **others: Any) -> None:
        super().__init__(*arguments, **others)
        self.setting = setting


class _Page(click.Command):
    """A command whose page has these sections. Of the environment only what this command looks at is named;
    options that are settings add their variables."""

    def __init__(
        self, *arguments: Any, environment: Lines = (), examples: Lines = (), files: Lines = (), **others: Any
    ) -> None:
        super().__init__(*arguments, **others)
        self._environment = environment
        self._examples = examples
        self._files = files

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        variables = [*_variables(self.params), *self._environment, *EVERYWHERE]
        write_section(formatter, "Environment", variables)
        write_section(formatter, "Files", self._files)
        write_section(formatter, "Exit status", STATUSES)
        write_section(formatter, "Examples", self._examples)
        super().format_epilog(ctx, formatter)


class Command(_Page):
    """A command with a page."""


class Group(_Page, click.Group):
    """Commands of one name, with a page."""


def write_section(formatter: click.HelpFormatter, title: str, lines: Lines) -> None:
    """A list of terms and what they mean; nothing where it is empty."""
    if lines:
        with formatter.section(title):
            formatter.write_dl(list(lines))


def setting_variable(key: str) -> str:
    """The variable of the setting ``section.name``."""
    return f"REAME_{key.replace('.', '__')}".upper()


def _variables(parameters: list[click.Parameter]) -> list[tuple[str, str]]:
    options = [parameter for parameter in parameters if isinstance(parameter, SettingOption)]
    return [(setting_variable(option.setting), f"as {option.opts[0]}") for option in options]
