"""Servers that share a store."""

NAMES = ("first_token", "publishing", "traffic")
