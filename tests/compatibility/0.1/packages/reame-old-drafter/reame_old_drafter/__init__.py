"""Old drafter: drafts from what the text said before."""

from reame_old_drafter.plugin import OldDrafter

plugin = OldDrafter()
"""What the entry point names. Reame asks its hooks."""
