"""Text to tokens: none that the model would not have written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from reame_suggeritore.proposals.speller import Speller

from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import thorough

SPELLER = Speller(vocabulary.tokenize, vocabulary.piece)
TEXTS = st.text("the aningrb12\n é", max_size=12)


def spelled(before: str, text: str, *samples: str) -> str:
    tokens = SPELLER.spell(vocabulary.tokenize(before), text, samples or ("x",))
    return b"".join(map(vocabulary.piece, tokens)).decode(errors="replace")


def test_tokens_of_the_text_behind_what_is_there() -> None:
    assert spelled("1. a\n", "2. ") == "2. "
    assert spelled("", "abc") == "abc"


def test_no_token_where_the_seam_would_be_inside_one() -> None:
    assert spelled("a\n", "\nb") == "", "two line breaks are one token: the model did not mean to go on so"
    assert spelled("1", "2") == ""


def test_no_last_token_that_may_become_a_longer_one() -> None:
    assert spelled("x", "y ", " ") == "y", "two blanks are one token"
    assert spelled("x", "ya", "b", "z") == "y", "what follows may belong to the last character"
    assert spelled("x", "ya", "z") == "ya"


def test_control_tokens_before_it_do_not_matter() -> None:
    before = [*vocabulary.tokenize("x"), vocabulary.TURN_END, *vocabulary.tokenize("y")]
    assert SPELLER.spell(before, "z", ("x",)) == vocabulary.tokenize("z")
    assert SPELLER.spell([vocabulary.BOS], "z", ("x",)) == vocabulary.tokenize("z")


def test_a_tail_that_begins_inside_a_character() -> None:
    before = vocabulary.tokenize("é" * 8 + "x")
    assert SPELLER.spell(before, "yz", ("x",)) == vocabulary.tokenize("yz")


def test_vocabularies_that_put_a_blank_before_everything() -> None:
    speller = Speller(lambda text: vocabulary.tokenize(" " + text), vocabulary.piece)
    assert speller.spell(vocabulary.tokenize("1. a\n"), "2.", ("x",)) == vocabulary.tokenize("2.")


@given(TEXTS, TEXTS, TEXTS)
@thorough(150)
def test_what_is_spelled_is_how_the_whole_is_tokenized(before: str, text: str, after: str) -> None:
    known = vocabulary.tokenize(before)
    tokens = SPELLER.spell(known, text, (after, "x", " "))
    whole = vocabulary.tokenize(before + text + after)
    if tokens:
        assert whole[: len(known) + len(tokens)] == known + tokens
