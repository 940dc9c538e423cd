"""Prompts that were computed once are read from disk: a plugin of Reame."""

from reame_diskkv.plugin import DiskKV

plugin = DiskKV()
"""What the entry point names."""
