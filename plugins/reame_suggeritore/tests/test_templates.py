"""Forms that a prompt shows are proposed in the answer."""

from __future__ import annotations

from plugins.reame_suggeritore.tests.texts import drafted, proposed

FORM = "Fill in:\nSentiment: <good or bad>\nRating: <1-5>\nSummary: <one sentence>\n\nReview: It broke."
SHOTS = "Q: France?\nCapital: Paris\nSpeech: French\n\nQ: Japan?\nCapital: Tokyo\nSpeech: Japanese\n\nQ: Chile?"
JSON = 'Answer like {"sort": "x", "price": {"sum": 1, "in": "EUR"}, "tags": ["a"]}: two apples for 3 dollars.'


class TestLabelledLines:
    def test_the_answer_begins_with_the_first_label(self) -> None:
        assert proposed("", FORM) == "Sentiment: "

    def test_each_label_follows_the_one_before(self) -> None:
        assert (proposed("Sentiment: bad\n", FORM) or "").startswith("Rating:")
        assert (proposed("Sentiment: bad\nRating: 2\n", FORM) or "").startswith("Summary:")

    def test_the_answer_ends_behind_the_last_one(self) -> None:
        assert proposed("Sentiment: bad\nRating: 2\nSummary: It broke.", FORM) == "<end>"

    def test_a_value_may_end_soon_but_not_a_sentence(self) -> None:
        short = drafted("Sentiment: bad", FORM)
        assert short is None or (short.confidence or 0) < 0.4

    def test_without_templates_nothing_is_known(self) -> None:
        assert proposed("", FORM, templates=False) is None
        assert proposed("Sentiment: bad\n", FORM, templates=False) is None


class TestFewShots:
    def test_the_labels_behind_a_question(self) -> None:
        assert (proposed("", SHOTS) or "").startswith("Capital:")
        assert (proposed("Capital: Santiago\n", SHOTS) or "").startswith("Speech:")

    def test_values_are_like_those_of_the_examples(self) -> None:
        assert (proposed("Capital: Paris", SHOTS) or "").startswith("\nSpeech:")


class TestJsonExamples:
    def test_keys_in_their_order(self) -> None:
        assert proposed('{"', JSON) == 'sort": "'
        assert proposed('{"sort": "apple"', JSON) == ', "price": {"sum": '
        assert (proposed('{"sort": "apple", "price": {"sum": 3, "in": "USD"', JSON) or "").startswith(
            '}, "tags": ["'
        )

    def test_in_the_answers_own_style(self) -> None:
        assert proposed('{\n  "sort": "apple",\n', JSON) == '  "price": {\n    "sum": '

    def test_without_templates_nothing_is_known(self) -> None:
        assert proposed('{"', JSON, templates=False) is None


def test_lists_of_a_prompt_are_not_continued() -> None:
    """Nor do they count."""
    question = "1. Read this.\n2. Name three trees.\n3. Stop."
    assert proposed("", question) is None
    assert (proposed("1. Ash\n", question) or "").startswith("2.")
    assert (proposed("1. Ash\n2. Oak", question) or "").startswith("\n3.")
