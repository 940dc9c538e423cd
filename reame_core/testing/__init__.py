"""For tests of Reame and of its plugins: a model that needs no file and answers in microseconds."""

from reame_core.testing.fake_backend import FakeBackend, FakeClock
from reame_core.testing.rule_constraint import RuleConstraint

__all__ = ["FakeBackend", "FakeClock", "RuleConstraint"]
