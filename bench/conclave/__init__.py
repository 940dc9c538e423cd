"""What votes are worth: accuracy on a quiz, tokens, and wall time. See docs/conclave.md."""
