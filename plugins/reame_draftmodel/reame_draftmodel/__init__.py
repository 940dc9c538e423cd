"""Drafts by a second, smaller model with the same vocabulary."""

from reame_draftmodel.plugin import plugin

__all__ = ["plugin"]
