"""Measures any OpenAI-compatible server on the same workloads: ``reame bench``. See docs/benchmarks.md."""
