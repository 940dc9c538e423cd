"""Options of ``reame run``: what the answer has to be."""

from __future__ import annotations

import json
from pathlib import Path

from reame_core.plugins.api import RunOption


def _text(name: str) -> str:
    try:
        return Path(name).read_text("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{name} is no text in UTF-8") from None
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}") from None


def _schema(name: str) -> object:
    try:
        return json.loads(_text(name))
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is no JSON: {error}") from None
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None


OPTIONS = (
    RunOption(
        "--json-schema", "json_schema", None, "FILE", "The answer is JSON that this schema permits.", _schema
    ),
    RunOption("--regex", "regex", None, "PATTERN", "The answer is a text that this expression matches."),
    RunOption(
        "--grammar", "grammar", None, "FILE", "The answer is a text of this grammar, in GBNF or Lark.", _text
    ),
)
