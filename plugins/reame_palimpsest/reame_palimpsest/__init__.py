"""Drafts from the past: prompt lookup, and an archive of everything that was generated."""
