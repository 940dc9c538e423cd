"""The laws that plugins keep, as checks. Each raises ``BrokenLaw`` with the law in words, and where hypothesis
found the counterexample it shows the smallest one."""

from reame_core.testing.contracts.cache import check_cache
from reame_core.testing.contracts.drafter import check_drafter
from reame_core.testing.contracts.judge import check_judge
from reame_core.testing.contracts.laws import BrokenLaw

__all__ = ["BrokenLaw", "check_cache", "check_drafter", "check_judge"]
