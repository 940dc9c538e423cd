import pytest
from reame_old_judge.plugin import OldJudge

from reame_core.engine.request import Request
from reame_core.plugins.api import Candidate, CandidateState, Group
from reame_core.testing.contracts import check_judge


def group(*texts: str | None) -> Group:
    """Candidates that have ended with these texts; None still runs."""
    candidates = [
        Candidate(n, CandidateState.RUNNING if text is None else CandidateState.ENDED, text or "", 5, -1.0)
        for n, text in enumerate(texts)
    ]
    return Group(Request(prompt=(1,), n=len(texts), select=True), tuple(candidates))


def test_it_keeps_the_laws_of_judges() -> None:
    check_judge(OldJudge)


@pytest.mark.parametrize(
    ("texts", "winner"),
    [
        (("so\n4", "5", "4"), 0),
        (("5", "4", None), None),
        (("4", "4", None), 0),
        (("5", "It is\nB", "b"), 1),
        ((None, None), None),
    ],
)
def test_the_majority_of_last_lines(texts: tuple[str | None, ...], winner: int | None) -> None:
    assert OldJudge().select_winner(group(*texts)) == winner
