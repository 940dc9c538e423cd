import time

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Draft, DraftPrice


class Dictionary:
    """Says the word again that came last, and takes its time."""

    def __init__(self):
        self.ms_per_token = 1.0

    @hookimpl
    def price_drafts(self, wishes):
        return DraftPrice(self.ms_per_token * len(wishes), most=8)

    @hookimpl
    def compute_drafts(self, wishes):
        started = time.perf_counter()
        drafts = [Draft([int(wish.sequence.tokens[-1])] * min(8, wish.limit)) for wish in wishes]
        spent = 1000 * (time.perf_counter() - started)
        self.ms_per_token = max(1e-3, spent / sum(len(draft.tokens) for draft in drafts))
        return drafts


plugin = Dictionary()
