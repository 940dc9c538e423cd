"""Structured output: what a request's schema, grammar or tools forbid is never generated, and what they force
is proposed."""
