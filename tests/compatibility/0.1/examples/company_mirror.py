"""Adds the models of a company's mirror to the catalogue.

The mirror keeps a list, one model a line: name, file, SHA-256, and the number of tokens of its context:

    invoices-1.5b  invoices-1.5b-q4_k_m.gguf  3f6c…  8192

Put a copy of the list beside `reame.toml` as `mirror.txt`, or name another place in REAME_MIRROR_LIST; the
address of the mirror is REAME_MIRROR. `reame list` shows the models then, and `reame run invoices-1.5b` fetches
and checks one.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from reame_core.config.directories import directories
from reame_core.hookspecs import hookimpl

ADDRESS = "https://models.example.org/gguf"
log = logging.getLogger("reame.plugins")


class CompanyMirror:
    """Reads the list when the catalogue is asked, and asks no server."""

    @hookimpl
    def register_models(self) -> dict[str, dict[str, object]]:
        """Entries by name. A line that cannot be read is logged and left out."""
        path = Path(os.environ.get("REAME_MIRROR_LIST") or directories().config / "mirror.txt")
        address = os.environ.get("REAME_MIRROR", ADDRESS).rstrip("/")
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return {}
        models = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                name, file, sha256, context = line.split()
                models[name] = {
                    "source": f"{address}/{file}",
                    "sha256": sha256,
                    "context": int(context),
                    "suits": "this company",
                }
            except ValueError:
                log.warning("%s, line %d is not: name, file, SHA-256, context", path, number)
        return models


plugin = CompanyMirror()
