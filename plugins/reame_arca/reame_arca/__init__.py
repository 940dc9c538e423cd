"""One memory for several servers, in a Valkey or Redis: a plugin of Reame."""

from reame_arca.plugin import Arca

plugin = Arca()
"""What the entry point names."""
