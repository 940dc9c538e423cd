"""Log records as lines on stderr."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import pytest

from reame_core.cli.logs import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("reame.test")
    handler = Lines()
    logger.addHandler(handler)
    yield logger
    logger.removeHandler(handler)


@pytest.fixture
def log_an_error(logger: logging.Logger) -> Callable[[], None]:
    def log() -> None:
        try:
            raise ValueError("odd\nerror")
        except ValueError:
            logger.exception("plugin %r failed", "x")

    return log


def test_a_record_is_a_line(logger: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    logger.warning("path %s", "/tmp/a\nb")
    assert capsys.readouterr().err == "warning: path /tmp/a\\nb\n"


def test_tracebacks_are_for_those_who_debug(
    log_an_error: Callable[[], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REAME_DEBUG", raising=False)
    log_an_error()
    assert capsys.readouterr().err == "error: plugin 'x' failed (REAME_DEBUG=1 shows the traceback)\n"
    monkeypatch.setenv("REAME_DEBUG", "1")
    log_an_error()
    assert "Traceback (most recent call last):\n" in capsys.readouterr().err


def test_a_closed_stderr_stops_nothing(logger: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    logger.warning("nobody hears this")
