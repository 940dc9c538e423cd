from reame_old_drafter.plugin import OldDrafter

from reame_core.engine.request import Request
from reame_core.testing import plain_answers, plugged, prompt_of, run
from reame_core.testing.contracts import check_drafter


def test_it_keeps_the_laws_of_drafters() -> None:
    check_drafter(OldDrafter)


def test_it_is_right_where_the_text_repeats_itself() -> None:
    request = Request(prompt=prompt_of("one two three. one two three. one two"), max_tokens=24, ignore_end=True)
    with plugged(OldDrafter()) as running:
        answers = run(running.engine, request)[0]
    assert answers.said == plain_answers(request)
    assert answers[0].usage.drafted > 0
