"""For tests of Reame and of its plugins: a model that needs no file and answers in microseconds, engines and
servers on it, machines to simulate, and the laws that plugins keep, as checks.

``reame_core.testing.contracts`` needs hypothesis, ``reame_core.testing.pytest_plugin`` has fixtures for pytest.
"""

from reame_core.testing.driving import Answer, Answers, Plugged, plain_answers, plugged, prompt_of, run, submit
from reame_core.testing.fake_backend import FakeBackend, FakeClock
from reame_core.testing.machines import FLAT, STEEP, TWO_CORES, AttentionModel, CostModel
from reame_core.testing.rule_constraint import RuleConstraint

__all__ = [
    "FLAT",
    "STEEP",
    "TWO_CORES",
    "Answer",
    "Answers",
    "AttentionModel",
    "CostModel",
    "FakeBackend",
    "FakeClock",
    "Plugged",
    "RuleConstraint",
    "plain_answers",
    "plugged",
    "prompt_of",
    "run",
    "submit",
]
