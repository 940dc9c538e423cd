from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Draft, DraftPrice

ALPHABET = list(b"abcdefghijklmnopqrstuvwxyz")


@hookimpl
def price_drafts(wishes):
    return DraftPrice(0.01 * len(wishes))


@hookimpl
def compute_drafts(wishes):
    """What follows in the alphabet, for a model whose tokens are bytes."""
    drafts = []
    for wish in wishes:
        newest = int(wish.sequence.tokens[-1])
        start = ALPHABET.index(newest) + 1 if newest in ALPHABET else len(ALPHABET)
        drafts.append(Draft(ALPHABET[start : start + wish.limit]))
    return drafts
