"""JSON that goes on as it began."""
