"""One line for every error, and the exit code that belongs to it."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any

import click

from reame_core.cli import INTERRUPTED
from reame_core.cli.logs import debugging, log_to_stderr
from reame_core.cli.plugin_commands import plugin_commands
from reame_core.cli.terminal import OutputClosed, OutputError, discard_output, note
from reame_core.errors import ReameError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OUR_FAULT = 1
CALLERS_FAULT = 2
OUTPUT_CLOSED = 141
"""What a shell reports for a program that was ended by SIGPIPE."""


class _Interrupted(Exception):
    """Ctrl-C. KeyboardInterrupt itself would make click print a word of its own."""


class ReameGroup(click.Group):
    """The core's commands and those of plugins, whose errors are one line each."""

    def main(  # type: ignore[override]  # click's overloads cannot be spelt by a subclass
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        def run() -> Any:
            return super(ReameGroup, self).main(args, prog_name, standalone_mode=False, **extra)

        if not standalone_mode:
            return run()
        sys.exit(exit_code(run))

    def list_commands(self, ctx: click.Context) -> list[str]:
        try:
            added = plugin_commands(ctx)
        except UsageError:  # there is help even where the settings are wrong
            added = {}
        return sorted({*super().list_commands(ctx), *added})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or plugin_commands(ctx).get(cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        log_to_stderr()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise _Interrupted from None


def exit_code(action: Callable[[], object]) -> int:
    """Run ``action``, report its error if it has one, and say how the process should exit."""
    try:
        result = action()
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return CALLERS_FAULT
    except click.ClickException as error:
        return _report(error, _usage_text(error), CALLERS_FAULT)
    except UsageError as error:
        return _report(error, str(error), CALLERS_FAULT)
    except (OutputClosed, BrokenPipeError):
        discard_output()
        return OUTPUT_CLOSED
    except OutputError as error:
        discard_output()
        return _report(error, str(error), OUR_FAULT)
    except OSError as error:
        discard_output()
        return _report(error, _os_error_text(error), OUR_FAULT)
    except (_Interrupted, KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except ReameError as error:
        return _report(error, str(error), OUR_FAULT)
    except MemoryError as error:
        return _report(error, "out of memory", OUR_FAULT)
    except Exception as error:
        return _report(error, f"{_described(error)} (a bug; REAME_DEBUG=1 shows where)", OUR_FAULT)
    return result if isinstance(result, int) else 0


def _report(error: BaseException, message: str, code: int) -> int:
    if debugging():
        traceback.print_exception(error)
    note(f"error: {message or _described(error)}")
    return code


def _described(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _usage_text(error: click.ClickException) -> str:
    """click's sentence in the style of the others, and where to read more."""
    message = " ".join(error.format_message().split()).rstrip(".")
    message = message.replace(". Did you mean", "; did you mean")
    message = message[:1].lower() + message[1:]
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context and isinstance(error, click.NoSuchOption) and not error.possibilities and _takes_text(context):
        message += " (put -- before a text that begins with a dash)"
    return f"{message}; see {context.command_path} --help" if context else message


def _takes_text(context: click.Context) -> bool:
    return any(isinstance(parameter, click.Argument) for parameter in context.command.params)


def _os_error_text(error: OSError) -> str:
    text = error.strerror or str(error)
    return f"{error.filename}: {text}" if error.filename else text
