"""The server's log: one line a happening on standard error, for people or as JSON."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

import structlog

from reame_core.cli.terminal import is_terminal, one_line

if TYPE_CHECKING:
    from structlog.typing import Processor

    from reame_core.config.schema import ServerSettings

Event = MutableMapping[str, Any]


def set_up_logs(settings: ServerSettings) -> None:
    """Let structlog and the standard library's loggers write alike. Replaces what was set up before."""
    as_json = settings.log_format == "json"
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso" if as_json else "%Y-%m-%d %H:%M:%S", utc=as_json),
    ]
    level = getattr(logging, settings.log_level.upper())
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(settings)],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in ("reame", "reame_core"):
        logging.getLogger(name).setLevel(level)
    # What it says of interest, the server says itself.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def _renderers(settings: ServerSettings) -> list[Processor]:
    # Tracebacks are plain ones: with the values of variables they would show keys and prompts.
    if settings.log_format == "json":
        return [
            structlog.processors.EventRenamer("message"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
    return [
        _single_lines,
        structlog.dev.ConsoleRenderer(
            colors=is_terminal(sys.stderr),
            pad_event_to=0,
            sort_keys=False,
            exception_formatter=structlog.dev.plain_traceback,
        ),
    ]


def _single_lines(_: object, __: str, event: Event) -> Event:
    """No text of a user's or of a file's name begins a line of its own."""
    return {name: one_line(value) if isinstance(value, str) else value for name, value in event.items()}
