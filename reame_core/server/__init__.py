"""The OpenAI-compatible HTTP server. It knows JSON, keys and streams; of the engine it knows requests and
events, and of tensors nothing."""
