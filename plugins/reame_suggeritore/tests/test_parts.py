"""The parts that proposers are made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_suggeritore.options import SuggeritoreOptions
from reame_suggeritore.proposals.echo import Echo
from reame_suggeritore.proposals.ends import chance_of_end, is_settled, literal_ahead
from reame_suggeritore.proposals.fields import Field, divide
from reame_suggeritore.proposals.ordinals import following, is_label, style_of
from reame_suggeritore.proposals.page import Line, Page
from reame_suggeritore.proposals.prompt import Prompt
from reame_suggeritore.proposals.prompter import Prompter
from reame_suggeritore.proposals.sequence import BLANK, PLAIN, next_kind
from reame_suggeritore.proposals.values import expected_value, likely_digits, likely_value, resumed

from plugins.reame_suggeritore.tests.texts import BACKEND, CONTEXT, Sequence, chat, proposed
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

    def test_numbers_with_as_many_decimals_are_complete(self) -> None:
        earlier = [Field("8.4", 3), Field("60.5", 4)]
        assert is_settled(Field("109.7", 5), earlier)
        assert not is_settled(Field("109", 3), earlier)
        assert not is_settled(Field("109.", 4), earlier)
        assert not is_settled(Field("ash", 1), [Field("oak", 1)])

    def test_a_name_of_as_many_words_as_the_others(self) -> None:
        earlier = [Field("James Gosling", 2), Field("Rob Pike", 1), Field("Guido van Rossum", 2)]
        assert chance_of_end(Field("Brendan", 1), earlier) < 0.15
        assert chance_of_end(Field("Brendan Eich", 2), earlier) > 0.25

    def test_a_last_word_that_is_much_shorter_than_all_others_is_hardly_one(self) -> None:
        earlier = [Field("Guitar", 1), Field("Piano", 1)]
        assert chance_of_end(Field("Dr", 1), earlier) < 0.7 * chance_of_end(Field("Drum", 1), earlier)

    def test_the_tokens_of_a_field_are_those_of_its_last_word(self) -> None:
        line = Line("- Guido van Rossum", [1, 4, 7, 11, 15, 18])
        field = Field.of(line, 2, 18)
        assert (field.text, field.words, field.last_word, field.tokens) == ("Guido van Rossum", 3, "Rossum", 2)

    def test_the_point_in_numbers_of_one_shape(self) -> None:
        earlier = [Field("67.8", 4), Field("83.7", 4)]
        assert literal_ahead(Field("60", 2), earlier) == "."
        assert literal_ahead(Field("6", 1), earlier) == ""
        assert literal_ahead(Field("60.5", 4), earlier) == ""
        assert literal_ahead(Field("60", 2), [*earlier, Field("8.4", 3)]) == "."
        assert literal_ahead(Field("6", 1), [*earlier, Field("8.4", 3)]) == ""
        assert literal_ahead(Field("60", 2), [*earlier, Field("60", 2)]) == ""

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

    @pytest.mark.parametrize(
        ("texts", "value"),
        [(["a", "b", "b"], "b"), (["b", "b", "a"], None), (["b"], None), ([], None), (list("abcbbbb"), "b")],
    )
    def test_a_value_that_most_have(self, texts: list[str], value: str | None) -> None:
        assert likely_value(texts) == value

    @pytest.mark.parametrize(
        ("texts", "digits"),
        [
            (["1991", "1985", "1979"], "19"),
            (["1991", "2009", "1995"], "199"),
            (["1991", "2009"], ""),
            (["1987-2000", "1988-1996"], "198"),
            (["31", "31", "31"], "3"),
            (["7", "71"], ""),
            (["1991"], ""),
            (["ash", "oak"], ""),
        ],
    )
    def test_digits_that_most_begin_with(self, texts: list[str], digits: str) -> None:
        assert likely_digits(texts) == digits

    @pytest.mark.parametrize(
        ("begun", "texts", "rest"),
        [
            ("Open", ["Open Source", "Commercial", "Open Source"], (" Source", True)),
            ("United", ["United States", "United Kingdom"], None),
            ("The request", ["The request has been done", "The request has been made"], (" has been", False)),
            ("Oak", ["Oak", "Oak tree"], None),
            ("19", ["1995"], None),
            ("5.", ["5.7"], None),
            ("E", ["Elm"], None),
            ("Fir", [], None),
        ],
    )
    def test_fields_that_begin_like_an_earlier_one(
        self, begun: str, texts: list[str], rest: tuple[str, bool] | None
    ) -> None:
        assert resumed(begun, texts) == rest


class TestEcho:
    ASKED = Echo("Make a Markdown table of ten trees with their height. Only the table.")

    @pytest.mark.parametrize(
        ("begun", "text", "least"),
        [
            ("Sure, here is the Markdown", " table of ten trees with their height:\n\n|", 0.3),
            ("Here is a markdown table of", " ten trees with their height:\n\n|", 0.8),
            ("A table of ten trees with their height", ":\n\n|", 0.8),
        ],
    )
    def test_the_question_once_more_and_the_form_it_asks_for(self, begun: str, text: str, least: float) -> None:
        assert self.ASKED.go_on(begun) is not None
        found, sure = self.ASKED.go_on(begun) or ("", 0.0)
        assert found == text
        assert sure >= least

    @pytest.mark.parametrize(
        "begun",
        ["", "Sure", "The table", "It is done. Here is the Markdown", "Here is the Markdown:", "Markdow "],
    )
    def test_nothing_where_nothing_is_repeated_or_a_sentence_has_ended(self, begun: str) -> None:
        assert self.ASKED.go_on(begun) is None

    def test_without_a_form_it_ends_with_the_sentence(self) -> None:
        assert (Echo("Explain why the sky is blue.").go_on("Why the sky is") or [""])[0] == " blue"
        assert Echo("Explain why the sky is blue.").go_on("Why the sky is blue") is None

    @given(st.text("ab .\n", max_size=30), st.text("ab .\n", max_size=30))
    @thorough(60)
    def test_what_is_proposed_stands_in_the_question(self, question: str, begun: str) -> None:
        coming = Echo(question).go_on(begun)
        assert coming is None or coming[0] in question

    def test_only_in_the_first_line_of_an_answer(self) -> None:
        question = "Describe the lighthouse of the harbour."
        assert proposed("The lighthouse of", question) == " the harbour"
        assert proposed("It stands.\nThe lighthouse of", question) is None
        assert proposed("- The lighthouse of", question) is None


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
