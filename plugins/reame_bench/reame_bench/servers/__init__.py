"""The contestants: how each is started, and what it is called in results."""
