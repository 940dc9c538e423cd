"""The core's measurements: one module each, with ``measure(case)`` and what it compares in its docstring."""

NAMES = (
    *("decode", "prefill", "tail", "users", "stall", "cancel", "steps"),
    *("neighbour", "buffers", "tuning", "start", "memory", "http"),
)
