"""The conclave: several answers to one question, and the one that most of them agree on."""
