"""What kinds of plugins there are templates for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """``summary`` completes "a plugin that …" in the package's own description; ``hooks`` is for the help."""

    name: str
    summary: str
    hooks: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    """Besides Reame."""
    options: tuple[str, ...] = ()
    """Lines of the plugin's table in ``reame.toml``."""


KINDS = {
    kind.name: kind
    for kind in (
        Kind("drafter", "drafts from what the text said before", ("propose_draft",)),
        Kind(
            "cache",
            "prompts are kept in files and restored",
            ("on_prefill", "persist"),
            options=('folder = "cells"   # where the files are',),
        ),
        Kind("judge", "the answer that most candidates agree on", ("select_winner",)),
        Kind("source", "models by name, from a place of one's own", ("register_models",)),
        Kind("routes", "a route of one's own", ("register_routes",), ("litestar>=2.25", "msgspec>=0.21")),
    )
}
