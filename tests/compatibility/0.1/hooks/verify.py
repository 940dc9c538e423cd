from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Verdict


@hookimpl
def verify(sequence, draft, logits, chooser):
    """Plain greedy requests in one look at the whole block; the core judges all others."""
    if not sequence.request.sampling.plain_greedy:
        return None
    best = logits.argmax(axis=1)
    accepted = 0
    while accepted < len(draft.tokens) and draft.tokens[accepted] == best[accepted]:
        chooser.accept(draft.tokens[accepted])
        accepted += 1
    return Verdict(accepted, int(best[accepted]))
