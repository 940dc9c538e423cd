"""Forms that a prompt shows: examples, labelled lines, JSON to be filled in."""
