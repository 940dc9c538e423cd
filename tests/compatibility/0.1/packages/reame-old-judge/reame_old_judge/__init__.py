"""Old judge: the answer that most candidates agree on."""

from reame_old_judge.plugin import OldJudge

plugin = OldJudge()
"""What the entry point names. Reame asks its hooks."""
