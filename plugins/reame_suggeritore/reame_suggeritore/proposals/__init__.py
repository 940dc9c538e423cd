"""Drafts from the form of a text, without any grammar."""
