"""Old source: models by name, from a place of one's own."""

from reame_old_source.plugin import OldSource

plugin = OldSource()
"""What the entry point names. Reame asks its hooks."""
