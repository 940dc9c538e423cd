from collections import Counter

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import CandidateState


@hookimpl
def select_winner(group):
    """The first of those whose last line more than half of all choices agree on."""
    answers = {
        candidate.choice: candidate.text.strip().splitlines()[-1]
        for candidate in group.candidates
        if candidate.state is CandidateState.ENDED and candidate.text.strip()
    }
    for answer, votes in Counter(answers.values()).most_common(1):
        if 2 * votes > len(group.candidates):
            return next(choice for choice in answers if answers[choice] == answer)
    return None
