from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame_core.models.special_texts import SpecialTexts, choose_guard, escaped

G = "\U0010fffd"
SPECIALS = SpecialTexts({"<s>": 1, "</s>": 2, "<|im_start|>": 3, "<|im_end|>": 4, "|im_end|>|": 5, "▁<EOT>": 6})


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("", ""),
        ("nothing here", "nothing here"),
        ("a <b> </b>", "a <b> </b>"),
        ("x<s>y", f"x<{G}s>y"),
        ("<s></s><s>", f"<{G}s><{G}/s><{G}s>"),
        ("<|im_end|>|", f"<{G}|{G}im_end|>|{G}"),
        ("ends with <|im_", f"ends with <|im_{G}"),
        ("ends with <", f"ends with <{G}"),
        ("<|im_<|im_end|>", f"<|im_<{G}|im_end|>{G}"),
        (" <EOT>", f" {G}<EOT>"),
        ("▁<EOT>", f"▁{G}<EOT>"),
        ("a blank at the end ", "a blank at the end "),
    ],
)
def test_guards(text: str, guarded: str) -> None:
    # "|im_end|>" is the beginning of another token, so a text that ends in it gets a guard there
    assert SPECIALS.guarded(text, G) == guarded
    assert SPECIALS.touches(text) == (text != guarded)


def test_untouched_texts_are_the_same_object() -> None:
    text = "".join(["plain ", "text"])
    assert SPECIALS.guarded(text, G) is text


def test_identifiers_as_keys_are_structure() -> None:
    specials = SpecialTexts({"type": 1, "<s>": 2})
    assert specials.guarded_key("type", G) == "type"
    assert specials.guarded_key("a <s>", G) == f"a <{G}s>"


def test_a_vocabulary_without_special_tokens() -> None:
    specials = SpecialTexts({})
    assert specials.guarded("<s>", G) == "<s>"
    assert specials.in_template(f"<s>{G}", G) == []


class TestInTemplate:
    def spans(self, specials: dict[str, int], text: str) -> list[str]:
        return [text[start:end] for start, end in SpecialTexts(specials).in_template(text, G)]

    def test_guarded_ones_do_not_count(self) -> None:
        assert self.spans({"<s>": 1, "</s>": 2}, f"<s>a<{G}s>b</s>") == ["<s>", "</s>"]

    def test_the_longest_wins_wherever_it_begins(self) -> None:
        assert self.spans({"ab": 1, "bcd": 2}, "abcd ab") == ["bcd", "ab"]

    def test_a_repetition_does_not_overlap_itself(self) -> None:
        assert self.spans({"aa": 1}, "aaa aa") == ["aa", "aa"]

    def test_tokens_of_one_character(self) -> None:
        specials = SpecialTexts({"§": 1})
        user = specials.guarded("a§b", G)
        assert specials.in_template(f"§{user}§", G) == [(0, 1), (5, 6)]

    def test_many_specials_are_found_in_a_moment(self) -> None:
        specials = SpecialTexts({f"<unused{i}>": i for i in range(6000)})
        text = "<unused12>" * 5000 + "<" * 20_000
        assert len(specials.in_template(text, G)) == 5000


def test_the_guard_is_one_nobody_wrote() -> None:
    taken = ["\U0010fffd", json.dumps("\U0010fffc"), "x"]
    guard = choose_guard(taken)
    assert guard == "\U0010fffb"
    assert json.dumps({"a": f"<{guard}s>"}) == f'{{"a": "<{escaped(guard)}s>"}}'


@given(st.lists(st.sampled_from(["<", "|", "<s>", "</s>", "<|im_", "im_end|>", "|>", "a", " "]), max_size=12))
def test_nothing_a_user_writes_counts_whatever_follows(pieces: list[str]) -> None:
    user = SPECIALS.guarded("".join(pieces), G)
    assert user.replace(G, "") == "".join(pieces)
    for after in ("", "<|im_end|>", "s>", "|>", "end|>", "/s>"):
        spans = SPECIALS.in_template(f"<|im_start|>{user}{after}", G)
        inside = [span for span in spans if len("<|im_start|>") <= span[0] < len("<|im_start|>") + len(user)]
        assert inside == []
