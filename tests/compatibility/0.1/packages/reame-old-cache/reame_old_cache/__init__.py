"""Old cache: prompts are kept in files and restored."""

from reame_old_cache.plugin import OldCache

plugin = OldCache()
"""What the entry point names. Reame asks its hooks."""
