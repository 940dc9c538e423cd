"""Sequences, batches, sampling. Knows no JSON, no HTTP and no llama.cpp; see ``backend`` for the seam."""
