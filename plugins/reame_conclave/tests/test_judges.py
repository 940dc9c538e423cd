"""What each judge reads out of a text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_conclave.judges.answer import Answer, Judge
from reame_conclave.judges.auto import Auto
from reame_conclave.judges.json_value import JsonField, JsonValue
from reame_conclave.judges.marker import Marker
from reame_conclave.judges.markup import READ, behind_thoughts
from reame_conclave.judges.pattern import LONGEST_PATTERN, Pattern
from reame_conclave.judges.prose import Prose, similarities
from reame_conclave.judges.registry import JUDGES
from reame_conclave.judges.texts import ChoiceLetter, ExactText

from reame_core.errors import InvalidRequest
from tests.engine.support import thorough


def read(judge: Judge, text: str) -> tuple[str, Any] | None:
    answer = judge.read(text)
    return None if answer is None else (answer.kind, answer.key)


def number(value: object) -> tuple[str, Fraction]:
    return "number", Fraction(str(value))


def test_equal_answers_are_equal_however_they_were_written() -> None:
    assert Answer("number", Fraction(5), "5") == Answer("number", Fraction(5), "five")
    assert Answer("number", Fraction(5), "5") != Answer("text", Fraction(5), "5")


MARKED = [
    (r"so \boxed{5}", number(5)),
    (r"\boxed{\frac{1}{2}}", number("0.5")),
    (r"first \boxed{4}, no: \boxed{5}", number(5)),
    (r"\boxed{\text{Paris}}", ("text", "paris")),
    (r"So the answer is $\boxed{106}$.", number(106)),
    ("The answer is 5.", number(5)),
    ("the answer is: $5$.", number(5)),
    ("**Answer:** 12 dollars", number(12)),
    ("**Answer**: 12", number(12)),
    ("Answer: (B)", ("choice", "B")),
    ("Answer:\n\n42", number(42)),
    ("#### 1,234", number(1234)),
    ("Final answer: Paris", ("text", "paris")),
    ("Final Answer: **Paris**.", ("text", "paris")),
    ("<answer>five</answer>", number(5)),
    ("answer is 3.5. Then more.", number("3.5")),
    ("The answer is x = 7", number(7)),
    ("The answer is 5, because 3 + 2 = 5", number(5)),
    ("The answer is 3 and 4.", ("text", "3 and 4")),
    ("La risposta è 106.", number(106)),
    ("Die Antwort ist: zwölf", number(12)),
    ("La réponse est 3,5", number("3.5")),
    ("La respuesta es −4", number(-4)),
    ("Answer: 3\nAnswer: 4", number(4)),
    (r"\boxed{", None),
    ("Answer:", None),
    ("No answer here, only 5 of them", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "answer"), MARKED)
def test_marker(text: str, answer: object) -> None:
    assert read(Marker(), text) == answer


LETTERS = [
    ("B", "B"),
    ("b", "B"),
    ("(c)", "C"),
    ("B.", "B"),
    ("B) Paris", "B"),
    ("**D**", "D"),
    ("B. Paris is the capital.", "B"),
    ("The correct answer is (D).", "D"),
    ("The answer is A", "A"),
    ("I choose B because A is wrong", "B"),
    ("Option C is right.", "C"),
    ("It is not A, so the answer: C", "C"),
    ("Let me think.\nC) 42", "C"),
    ("The answer is A dog", None),
    ("A dog is an animal", None),
    ("Paris", None),
    ("K", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "letter"), LETTERS)
def test_choice(text: str, letter: str | None) -> None:
    assert read(ChoiceLetter(), text) == (None if letter is None else ("choice", letter))


TEXTS = [
    ("Paris", "paris"),
    ("  PARIS. ", "paris"),
    ('"Paris"', "paris"),
    ("**Paris**!", "paris"),
    ("New\n  York", "new york"),
    ("Ｐａｒｉｓ", "paris"),
    ("...", None),
    ("", None),
    (" \n", None),
]


@pytest.mark.parametrize(("text", "key"), TEXTS)
def test_text(text: str, key: str | None) -> None:
    assert read(ExactText(), text) == (None if key is None else ("text", key))


SAME_JSON = [
    ('{"a": 1, "b": [true, null]}', '{"b":[true,null],"a":1.0}'),
    ('{"a": 100}', '{"a": 1e2}'),
    ("```json\n[1, 2]\n```", "[1,2]"),
    ('Here it is: {"a": {"b": 2}} as asked.', '{"a": {"b": 2}}'),
    ('{"a": "é"}', '{"a": "\\u00e9"}'),
    ('{"why": "3 + 2", "answer": "5"}', '{"answer": 5.0, "why": "counted"}'),
    ('{"final_answer": "five"}', "5"),
    ('see {x} and {"a": 1}', '{"a": 1}'),
]
OTHER_JSON = [
    ('{"a": 1}', '{"a": true}'),
    ('{"a": 1}', '{"a": "1"}'),
    ("[1, 2]", "[2, 1]"),
    ('{"a": null}', "{}"),
    ('{"a": [1]}', '{"a": 1}'),
]


@pytest.mark.parametrize(("one", "other"), SAME_JSON)
def test_json_equal_by_value(one: str, other: str) -> None:
    assert JsonValue().read(one) is not None
    assert JsonValue().read(one) == JsonValue().read(other)


@pytest.mark.parametrize(("one", "other"), OTHER_JSON)
def test_json_that_differs(one: str, other: str) -> None:
    assert JsonValue().read(one) is not None
    assert JsonValue().read(one) != JsonValue().read(other)


@pytest.mark.parametrize("text", ["", "no", "[1, 2", '{"a": NaN}', "Infinity", '{"a": 1e99999}', "[" * 50_000])
def test_no_json(text: str) -> None:
    assert JsonValue().read(text) is None


FIELDS = [
    ("answer", '{"answer": "$5", "x": 1}', number(5)),
    ("x.0.y", 'text {"x": [{"y": "Paris"}]} more', ("text", "paris")),
    ("x.y", '{"x": {"y": {"b": 1, "a": 2}}}', None),
    ("x.1", '{"x": [1]}', None),
    ("x", '{"x": null}', None),
    ("x", "nothing", None),
]


@pytest.mark.parametrize(("path", "text", "answer"), FIELDS)
def test_a_field_of_json(path: str, text: str, answer: object) -> None:
    found = JsonField(path).read(text)
    if path == "x.y":
        assert found == JsonField("z").read('{"z": {"a": 2.0, "b": 1}}')
    else:
        assert (None if found is None else (found.kind, found.key)) == answer


PATTERNS = [
    (r"total=(\d+)", "total=5 total=6", number(6)),
    (r"\bid-\w+", "see id-abc", ("text", "id-abc")),
    (r"(?i)verdict: (yes|no)", "Verdict: YES", ("text", "yes")),
    (r"x(\d*)", "x", None),
    (r"nothing", "else", None),
    (r"(a+)+$", "a" * 5000 + "b", None),
]


@pytest.mark.parametrize(("pattern", "text", "answer"), PATTERNS)
def test_pattern(pattern: str, text: str, answer: object) -> None:
    assert read(Pattern(pattern, "p"), text) == answer


@pytest.mark.parametrize("pattern", ["(", r"(?=a)", r"(a)\1", "a{2000}", "x" * (LONGEST_PATTERN + 1)])
def test_a_pattern_that_cannot_be_used(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidRequest, match=r"^reame\.conclave\.pattern ") as caught:
        Pattern(pattern, "reame.conclave.pattern")
    assert caught.value.param == "reame.conclave.pattern"
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


AUTO = [
    # five in many ways is one answer
    *(
        (text, number(5))
        for text in ("5", "5.0", "five", r"\boxed{5}", "Answer: $5", "3 + 2 = 5", "There are 5.")
    ),
    ("We get 7 at first.\nThe answer is 5.", number(5)),
    ('{"answer": 5, "of": 12}', number(5)),
    ("B", ("choice", "B")),
    ("B) 42", ("choice", "B")),
    ("The answer is (B) 42", ("choice", "B")),
    ("A dog.", ("text", "a dog")),
    ("Paris.", ("text", "paris")),
    ("true", ("text", "true")),
    ("Snow White and the 7 dwarfs sing all day long in the forest.", "text"),
    ("12:30", ("text", "12:30")),
    ("", None),
    ("   ", None),
]


@pytest.mark.parametrize(("text", "answer"), AUTO)
def test_auto(text: str, answer: Any) -> None:
    found = read(Auto(), text)
    if answer == "text":
        assert found is not None
        assert found[0] == "text"
    else:
        assert found == answer


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Paris", "Paris"),
        ("<think>London? No.</think>\nParis", "\nParis"),
        ("London? No.</think>Paris", "Paris"),
        ("<think>London? Perhaps", ""),
        ("a</think>b<think>c</think>d", "d"),
        ("", ""),
    ],
)
def test_thoughts_are_no_answer(text: str, said: str) -> None:
    assert behind_thoughts(text) == said


def test_prose_is_compared_by_its_words() -> None:
    assert Prose().read("anything") is None
    table = similarities(["the cat sat", "The cat sat!", "the dog", "", ""])
    assert table[0][1] == 1
    assert table[0][2] == pytest.approx(1 / 4)
    assert table[0][3] == 0
    assert table[3][4] == 1
    assert all(table[i][j] == table[j][i] for i in range(5) for j in range(5))


@pytest.mark.parametrize("name", JUDGES)
@given(text=st.text(alphabet=st.sampled_from('ab5 \n.,{}[]":\\$#*Answeris()/%-boxed')))
@thorough(40)
def test_no_text_is_too_odd(name: str, text: str) -> None:
    judge = JUDGES[name]()
    assert judge.name == name
    assert judge.read(text) == judge.read(text)


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize(
    "piece", ["{", '{"a":', r"\boxed{", "Answer: ", "<answer>", "#### ", "```\n", "a ", "((", "*"]
)
def test_endless_repetitions(name: str, piece: str) -> None:
    JUDGES[name]().read(piece * (2 * READ // len(piece)))
