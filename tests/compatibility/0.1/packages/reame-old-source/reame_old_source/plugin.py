"""Adds models to the catalogue."""

from __future__ import annotations

from reame_core.hookspecs import hookimpl

ADDRESS = "https://models.example.org"
"""Change this to where your models are."""


class OldSource:
    """What it names can be given to ``reame run``, ``serve``, ``pull`` and ``show``."""

    @hookimpl
    def register_models(self) -> dict[str, dict[str, object]]:
        """Entries by name, with the fields of a catalogue file. Answer at once: ask no server here."""
        return {
            "house-0.5b": {
                "source": f"{ADDRESS}/house-0.5b-q4_k_m.gguf",
                "quantisation": "Q4_K_M",
                "context": 8192,
                "licence": "apache-2.0",
                "suits": "the house's own questions",
            }
        }
