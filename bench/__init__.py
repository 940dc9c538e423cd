"""Benchmarks: ratios within one run, with the host and the command that made them. See docs/benchmarks.md."""
