"""What modules log, as lines on stderr."""

from __future__ import annotations

import logging
import os

from reame_core.cli.terminal import note, one_line


class Lines(logging.Handler):
    """One line a record; the traceback only for those who debug."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
            if record.exc_info and not debugging():
                message += " (REAME_DEBUG=1 shows the traceback)"
            note(f"{record.levelname.lower()}: {message}")
            if record.exc_info and debugging():
                for line in logging.Formatter().formatException(record.exc_info).splitlines():
                    note(one_line(line))
        except Exception:
            self.handleError(record)


def debugging() -> bool:
    return os.environ.get("REAME_DEBUG", "0") not in ("", "0")


def log_to_stderr() -> None:
    """Show warnings and errors. Does nothing where the host program has set up logging itself."""
    logging.basicConfig(handlers=[Lines()], level=logging.WARNING)
    logging.getLogger("reame.plugins.trace").setLevel(logging.INFO)  # silent unless it was asked for


def log_more() -> None:
    """Show what Reame and its plugins tell about their work, too."""
    for name in ("reame", "reame_core"):
        logging.getLogger(name).setLevel(logging.INFO)
