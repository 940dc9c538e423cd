"""A session as users have it, with the plugin alone and room for many candidates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reame_core.config import Flag, load_settings
from reame_core.plugins.selection import PluginSelection
from reame_core.session import Session, open_session

PLUGIN = "conclave"
CONTEXT = 512


@contextmanager
def conclave_session(model: Path, parallel: int, *, max_draft: int | None = None) -> Iterator[Session]:
    """``parallel`` sequences at once; ``max_draft`` 0 lets candidates not draft from each other."""
    flags = [Flag("--context-length", "model.context_length", str(CONTEXT))]
    flags += [Flag("--parallel", "engine.parallel", str(parallel))]
    if max_draft is not None:
        flags.append(Flag("--max-draft", "engine.max_draft", str(max_draft)))
    selection = PluginSelection(only=(PLUGIN,), strict=True)
    with open_session(load_settings(flags), str(model), selection=selection) as session:
        yield session
