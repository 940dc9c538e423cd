"""Finding, choosing, loading and guarding plugins."""
