"""``python -m bench fleet``: several servers and one store, simulated from measured times."""
