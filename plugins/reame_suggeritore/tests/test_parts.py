"""The parts that proposers are made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_suggeritore.options import SuggeritoreOptions
from reame_suggeritore.proposals.fields import Field, chance_of_end, divide, expected_value, literal_ahead
from reame_suggeritore.proposals.ordinals import following, is_label, style_of
from reame_suggeritore.proposals.page import Page
from reame_suggeritore.proposals.prompt import Prompt
from reame_suggeritore.proposals.prompter import Prompter
from reame_suggeritore.proposals.sequence import BLANK, PLAIN, next_kind

from plugins.reame_suggeritore.tests.texts import BACKEND, CONTEXT, Sequence, chat
from reame_core.config.plugin_options import read_options
from reame_core.errors import ConfigError
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import thorough


class TestOrdinals:
    @pytest.mark.parametrize(
        "row",
        ["i ii iii iv v vi vii viii ix x xi", "xxxix xl xli", "lxxxix xc xci", "XCIX C CI", "mcmxcix mm mmi"],
    )
    def test_roman_numbers_count(self, row: str) -> None:
        labels = row.split()
        style = "I" if row.isupper() else "i"
        assert [following(label, style) for label in labels[:-1]] == labels[1:]
        assert all(map(is_label, labels))

    @pytest.mark.parametrize(
        ("label", "before", "style"),
        [
            ("7", None, "1"),
            ("b", "a", "a"),
            ("i", None, "i"),
            ("i", "h", "a"),
            ("ii", "i", "i"),
            ("C", "B", "A"),
            ("V", "IV", "I"),
            ("v", "u", "a"),
        ],
    )
    def test_styles(self, label: str, before: str | None, style: str) -> None:
        assert style_of(label, before) == style


class TestFields:
    def test_what_stands_between_separators(self) -> None:
        separators, places = divide("**New York**: 8.4 million, on 3 rivers")
        assert separators == ["**", "**: ", " ", ", ", ""]
        assert len(places) == 4

    @given(st.text(max_size=40))
    @thorough(60)
    def test_nothing_is_lost(self, text: str) -> None:
        separators, places = divide(text)
        fields = [text[start:end] for start, end in places]
        assert "".join(a + b for a, b in zip(separators, [*fields, ""], strict=True)) == text

    def test_numbers_of_as_many_digits_are_complete(self) -> None:
        earlier = [Field("12", 2), Field("34", 2), Field("56", 2)]
        assert chance_of_end(Field("78", 2), earlier) > 0.8
        assert chance_of_end(Field("7", 1), earlier) < 0.1
        assert chance_of_end(Field("x", 1), []) == 0

    def test_words_as_long_as_the_others_may_be(self) -> None:
        earlier = [Field("ash", 1), Field("oak", 1), Field("hazel", 2)]
        assert chance_of_end(Field("elm", 1), earlier) > chance_of_end(Field("x", 1), [Field("hazel", 2)] * 3)

    def test_the_point_in_numbers_of_one_shape(self) -> None:
        earlier = [Field("67.8", 4), Field("83.7", 4)]
        assert literal_ahead(Field("60", 2), earlier) == "."
        assert literal_ahead(Field("6", 1), earlier) == ""
        assert literal_ahead(Field("60.5", 4), earlier) == ""
        assert literal_ahead(Field("60", 2), [*earlier, Field("8.4", 3)]) == ""

    @pytest.mark.parametrize(
        ("texts", "value"),
        [
            (["x", "x"], "x"),
            (["x"], None),
            (["1"], "2"),
            (["2"], None),
            (["1", "2"], "3"),
            (["07", "08", "09"], "10"),
            (["10", "20", "30"], "40"),
            (["30", "25"], None),
            (["id", "1", "2"], "3"),
            (["A1", "A2"], "A3"),
            (["A1", "B2"], None),
            ([], None),
        ],
    )
    def test_expected_values(self, texts: list[str], value: str | None) -> None:
        assert expected_value(texts) == value


class TestSequence:
    A, B = ("a",), ("b",)

    def test_what_followed_the_longest_match(self) -> None:
        kind, _ = next_kind([self.A, self.B, BLANK, self.A, self.A, BLANK, self.A]) or (None, 0)
        assert kind == self.A
        kind, _ = next_kind([self.A, self.B, BLANK, self.A]) or (None, 0)
        assert kind == self.B

    def test_the_more_often_the_surer(self) -> None:
        once, twice = next_kind([self.A, self.B, self.A]), next_kind([self.A, self.B, self.A, self.B, self.A])
        assert once is not None
        assert twice is not None
        assert twice[1] > once[1]

    def test_lines_without_form_tell_nothing(self) -> None:
        assert next_kind([PLAIN, BLANK, PLAIN, BLANK, PLAIN]) is None
        assert next_kind([]) is None


class TestPage:
    @given(st.lists(st.text("ab\n\r é€", max_size=6), max_size=8))
    @thorough(60)
    def test_lines_are_those_of_the_whole_text(self, texts: list[str]) -> None:
        page = Page(vocabulary.piece)
        for text in texts:
            page.read(vocabulary.tokenize(text))
        assert "\n".join([line.text for line in page.lines] + [page.current.text]) == "".join(texts)
        assert page.whole

    def test_in_the_middle_of_a_character_nothing_is_proposed(self) -> None:
        page = Page(vocabulary.piece)
        page.read(vocabulary.tokenize("é")[:1] if len(vocabulary.tokenize("é")) > 1 else [0xC3])
        assert not page.whole
        prompter = Prompter(CONTEXT, SuggeritoreOptions())
        sequence = Sequence(chat("?"), [*vocabulary.tokenize("1. Ash\n2. Oak\n"), 0xC3])
        assert prompter.propose(sequence, 8) is None


class TestPrompt:
    def test_numbers_and_the_end_token(self) -> None:
        question = "Name twelve trees, or 7. Not 1984, 3.5 or 20%."
        prompt = Prompt(chat(question), vocabulary.piece, BACKEND.info)
        assert prompt.numbers() == {12, 7}
        assert prompt.end_token == vocabulary.TURN_END
        raw = Prompt(vocabulary.tokenize("1. Ash"), vocabulary.piece, BACKEND.info)
        assert raw.end_token == vocabulary.EOS

    def test_a_list_in_a_prompt_that_is_continued_goes_on(self) -> None:
        prompter = Prompter(CONTEXT, SuggeritoreOptions())
        draft = prompter.propose(
            Sequence([vocabulary.BOS, *vocabulary.tokenize("Trees:\n1. Ash\n2. Oak\n")]), 8
        )
        assert draft is not None
        assert bytes(draft.tokens).startswith(b"3.")


class TestOptions:
    @pytest.mark.parametrize(
        ("table", "problem"),
        [
            ({"proposals": "perhaps"}, "plugins.suggeritore.proposals must be true or false, not 'perhaps'"),
            ({"proposal": True}, "plugins.suggeritore has no setting 'proposal'; did you mean 'proposals'?"),
        ],
    )
    def test_wrong_ones_are_one_line(self, table: dict[str, object], problem: str) -> None:
        with pytest.raises(ConfigError) as caught:
            read_options("suggeritore", table, SuggeritoreOptions)
        assert str(caught.value).startswith(problem)
        assert "\n" not in str(caught.value)


def test_sequences_that_ended_without_a_word_are_forgotten() -> None:
    prompter = Prompter(CONTEXT, SuggeritoreOptions())
    for _ in range(300):
        prompter.propose(Sequence(chat("?")), 8)
    assert len(prompter._readers) <= 256
