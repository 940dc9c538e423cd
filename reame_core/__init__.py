"""Reame."""
