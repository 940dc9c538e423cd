"""L2: answers to questions that mean the same."""
