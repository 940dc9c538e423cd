"""The commands about models: ``list``, ``pull``, ``show`` and ``rm``, and fetching for the others."""
