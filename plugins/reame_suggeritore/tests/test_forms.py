"""Each form by itself: what it proposes, and how sure it is."""

from __future__ import annotations

import pytest

from plugins.reame_suggeritore.tests.texts import drafted, gained, proposed

NOTHING = None


class TestNumbered:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("1. Ash\n", "2. "),
            ("1) Ash\n", "2) "),
            ("(1) Ash\n", "(2) "),
            ("9. Ash\n", "10. "),
            ("09. Ash\n", "10. "),
            ("1.1 Ash\n1.2 Oak\n", "1.3 "),
            ("a. Ash\n", "b. "),
            ("b) Ash\n", "c) "),
            ("A. Ash\n", "B. "),
            ("h) Ash\ni) Oak\n", "j) "),
            ("i. Ash\n", "ii. "),
            ("iii) Ash\niv) Oak\n", "v) "),
            ("IX. Ash\n", "X. "),
            ("  1. Ash\n", "  2. "),
            ("Step 1: Ash\n", "Step 2: "),
            ("**1. Ash**\n", "**2. "),
            ("> 1. Ash\n", "> 2. "),
            ("1. Ash\n\n2. Oak", "\n\n3. "),
            ("1. Ash\n\n", "2. "),
            ("1. Ash\n2", ". "),
            ("z) Ash\n", NOTHING),
        ],
    )
    def test_the_next_label(self, answer: str, expected: str | None) -> None:
        found = proposed(answer)
        assert (found or "").rstrip() == (expected or "").rstrip()

    def test_what_all_items_have_in_common_is_proposed_with_the_label(self) -> None:
        assert (proposed("1. **Ash**: grey\n") or "").startswith("2. **")
        assert (proposed("1. Avoid tea\n2. Avoid rum\n") or "").startswith("3. Avoid")

    def test_an_item_like_the_others_may_end_where_they_did(self) -> None:
        assert (proposed("1. Ash\n2. Oak\n3. Elm") or "").startswith("\n4.")
        assert (proposed("1. Ash.\n2. Oak.\n3. Elm") or "").startswith(".\n4.")
        draft = drafted("1. Ash\n2. Oak\n3. El")
        assert draft is None or (draft.confidence or 0) < 0.4

    def test_an_inner_list_begins_anew_below_each_outer_item(self) -> None:
        answer = "1. Ash\n   a) grey\n   b) tall\n2. Oak\n   a) old\n   b) wide\n3. Elm\n"
        assert (proposed(answer) or "").startswith("   a)")
        assert (proposed(answer + "   a) thin\n") or "").startswith("   b)")
        assert (proposed(answer + "   a) thin\n   b) rare\n") or "").startswith("4.")
        dotted = "1. Ash\n1.1 grey\n1.2 tall\n2. Oak\n2.1 old\n2.2 wide\n3. Elm\n"
        assert (proposed(dotted) or "").startswith("3.1")

    def test_prose_is_no_list(self) -> None:
        assert proposed("In 1984. That was\n") is NOTHING
        assert proposed("I. am") is NOTHING

    def test_knowing_and_guessing_are_told_apart(self) -> None:
        known, guessed = drafted("1. Ash\n2. Oak\n"), drafted("1. Ash\n2. Oak")
        assert known is not None
        assert known.label == "numbered"
        assert guessed is not None
        assert guessed.label == "numbered ends"


class TestBullets:
    @pytest.mark.parametrize("bullet", ["- ", "* ", "• ", "+ ", "  - ", "-   ", "- [ ] ", "* [x] "])
    def test_the_same_bullet_again(self, bullet: str) -> None:
        found = proposed(f"{bullet}ash\n{bullet}oak\n")
        assert found is not None
        assert found.rstrip() == bullet.rstrip()

    def test_an_inner_list_is_as_long_as_the_one_before(self) -> None:
        answer = "- trees\n  - ash\n  - oak\n- herbs\n  - dill\n  - mint\n"
        assert (proposed(answer) or "").startswith("- ")
        assert (proposed(answer + "- roots\n") or "").startswith("  -")

    def test_a_rule_is_no_bullet(self) -> None:
        assert proposed("---\n") is NOTHING
        assert proposed("-5 degrees\n") is NOTHING


class TestTables:
    HEAD = "| Tree | Height |\n"

    def test_the_rule_has_the_columns_of_the_head(self) -> None:
        assert (proposed(self.HEAD) or "").startswith("|------|--------|\n|")
        assert (proposed(self.HEAD + "| -") or "") == "--- | ------ |\n|"
        assert (proposed(self.HEAD + "|---|") or "") == "---|\n|"

    def test_the_rule_is_drawn_as_before(self) -> None:
        before = "| a | b |\n| --- | --- |\n| c | d |\n\n"
        assert (proposed(before + self.HEAD) or "").startswith("| --- | --- |\n")

    def test_a_row_begins_with_a_pipe_and_ends_with_its_last_column(self) -> None:
        rows = self.HEAD + "|---|---|\n| Ash | 21 |\n| Oak | 19 |\n"
        assert proposed(rows) == "|"
        assert proposed(rows + "| Elm | 23") == " |\n|"
        assert proposed(rows + "| Elm") == " | "

    def test_cells_are_padded_as_above(self) -> None:
        rows = "| Tree  | High |\n|-------|------|\n| Ash   | 21   |\n| Oak   | 19   |\n"
        assert proposed(rows + "| Elm") == "   | "
        assert proposed(rows + "| Elm  ") == " | "
        assert proposed(rows + "| Elm   | 23") == "   |\n|"

    def test_a_first_column_that_counts(self) -> None:
        rows = "| No | Tree |\n|----|------|\n| 1  | Ash  |\n| 2  | Oak  |\n"
        assert proposed(rows) == "| 3  | "
        assert proposed(rows + "|") == " 3  | "

    def test_a_rule_with_miscounted_dashes_goes_on(self) -> None:
        assert proposed(self.HEAD + "|-----|") == "--------|\n|"
        assert proposed(self.HEAD + "|-------") == "|--------|\n|"
        assert proposed(self.HEAD + "|------|--------|--------|") is NOTHING

    def test_behind_the_first_row_comes_a_row_not_another_rule(self) -> None:
        assert proposed(self.HEAD + "|---|---|\n| Ash | 21 |\n") == "|"

    def test_a_wide_cell_does_not_widen_the_next_one(self) -> None:
        rows = "| Tree  | High |\n|-------|------|\n| Ash   | 21   |\n| Horse chestnut | 19   |\n"
        assert (proposed(rows + "| Elm") or "").startswith("   | ")

    def test_the_same_cell_is_padded_in_the_same_way(self) -> None:
        rows = "| Wood   | No |\n|--------|----|\n| hard   | 7  |\n| soft  | 9  |\n| hard"
        assert (proposed(rows) or "").startswith("   | ")

    def test_a_cell_that_begins_like_one_above(self) -> None:
        rows = "| Tree | From |\n|---|---|\n| Ash | Old Europe |\n| Oak | Asia |\n| Elm | Old"
        draft = drafted(rows)
        assert draft is not None
        assert draft.label == "tables again"
        assert proposed(rows) == " Europe |\n|"

    def test_cells_that_mostly_say_the_same_are_filled_in(self) -> None:
        rows = (
            "| Tree | Wood | No |\n|---|---|---|\n| Ash | hard | 5 |\n| Fir | soft | 4 |\n| Oak | hard | 3 |\n"
        )
        rows += "| Elm | hard | 6 |\n| Yew"
        assert proposed(rows) == " | hard | "

    def test_digits_that_most_begin_with(self) -> None:
        rows = "| Tree | Year |\n|---|---|\n| Ash | 1991 |\n| Oak | 1985 |\n| Elm"
        assert proposed(rows) == " | 19"

    def test_numbers_of_one_shape_are_known_to_end(self) -> None:
        rows = "| Tree | Year |\n|---|---|\n| Ash | 1991 |\n| Oak | 1985 |\n| Elm | 1990"
        draft = drafted(rows)
        assert draft is not None
        assert draft.label == "tables"
        assert proposed(rows) == " |\n|"

    def test_numbers_that_count_are_not_cut_short(self) -> None:
        rows = "| Tree | No |\n|---|---|\n| Ash | 8 |\n| Oak | 9 |\n| Elm | 1"
        assert proposed(rows) == "0 |\n|"

    def test_the_first_row_tells_nothing_of_numbers(self) -> None:
        assert proposed(self.HEAD + "|---|---|\n| Ash | 2") is NOTHING

    def test_a_lone_pipe_is_no_table(self) -> None:
        assert proposed("a | b\n") is NOTHING


class TestHeadings:
    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            ("## 1. Ash", "## 2. Oak", "## 3. "),
            ("# Chapter 1: Ash", "# Chapter 2: Oak", "# Chapter 3: "),
            ("### A. Ash", "### B. Oak", "### C. "),
            ("## Ash", "## Oak", "## "),
        ],
    )
    def test_sections_like_the_ones_before(self, first: str, second: str, expected: str) -> None:
        section = "\nIt is a tree.\n\n"
        found = proposed(first + section + second + section)
        assert found is not None
        assert found.rstrip() == expected.rstrip()


class TestRecords:
    FIRST = "Name: Ash\nHeight: 21 m\nWood: hard\n\n"

    def test_the_next_key_follows_as_before(self) -> None:
        assert (proposed(self.FIRST + "Name: Oak\n") or "").startswith("Height:")
        assert (proposed(self.FIRST + "Name: Oak\nHei") or "").startswith("ght:")
        assert (proposed(self.FIRST + "Name: Oak\nHeight: 19 m\nWood: hard") or "").startswith("\n\nName:")

    def test_the_same_in_bold_behind_bullets_and_as_yaml(self) -> None:
        bold = "**Name:** Ash\n**Height:** 21\n\n"
        assert (proposed(bold + "**Name:** Oak\n") or "").startswith("**Height:**")
        yaml = "- name: ash\n  height: 21\n- name: oak\n"
        assert (proposed(yaml) or "").startswith("  height:")
        assert (proposed(yaml + "  height: 19\n") or "").startswith("- name:")

    def test_a_value_like_the_others_may_be_complete(self) -> None:
        found = proposed(self.FIRST + "Name: Oak\nHeight: 19 m")
        assert (found or "").startswith("\nWood:")

    def test_one_line_with_a_colon_is_no_record(self) -> None:
        assert proposed("Note: it rains\n") is NOTHING


class TestSeparated:
    @pytest.mark.parametrize("separator", [",", ";", "\t"])
    def test_values_rows_and_a_first_column_that_counts(self, separator: str) -> None:
        rows = "id,tree,year,high\n1,ash,1990,21\n2,oak,1985,19\n".replace(",", separator)
        begun = "3,elm,1979".replace(",", separator)
        assert proposed(rows) == f"3{separator}"
        assert proposed(rows + begun) == separator
        assert (proposed(rows + begun + f"{separator}23") or "").startswith("\n4")

    def test_prose_with_commas_is_no_row(self) -> None:
        assert proposed("ash, oak, elm, and so on\nash, oak, elm, and so on\n") is NOTHING


class TestMarkup:
    def test_closing_tags(self) -> None:
        assert proposed("<list>\n  <tree>Ash</") == "tree>"
        assert (proposed("<list>\n  <tree>Ash</tree>\n</") or "").startswith("list>")
        assert (proposed("<ul>\n<li>Ash<br>grey</") or "").startswith("li>")

    def test_elements_like_the_ones_before(self) -> None:
        one = "  <tree>\n    <name>Ash</name>\n    <high>21</high>\n  </tree>\n"
        text = f"<list>\n{one}  <tree>\n"
        assert (proposed(text) or "").startswith("    <name>")
        assert (proposed(text + "    <name>Oak") or "").startswith("</name>\n    <high>")
        assert (proposed(text + "    <name>Oak</name>\n    <high>19</high>\n") or "").startswith("  </tree>\n")

    def test_less_than_is_no_tag(self) -> None:
        assert proposed("a < b\n") is NOTHING


class TestCode:
    def test_indentation_and_words(self) -> None:
        code = "```python\nclass Tree:\n    def grow(self):\n        return 1\n\n"
        assert proposed(code[: code.index("\n    def") + 1]) == "    "
        assert (proposed(code + "    def fall(self):\n") or "").startswith("        ")
        assert (proposed(code + "    def fall(self):\n        return 2\n\n") or "").startswith("    def ")
        go = "```go\nfunc main() {\n"
        assert proposed(go) == "    "

    def test_the_fence_of_another_block_like_the_one_before(self) -> None:
        text = "```sh\nls\n```\n\n```sh\npwd\n"
        assert (proposed(text) or "").startswith("```")


class TestEnding:
    def test_as_many_items_as_were_asked_for(self) -> None:
        three = "1. Ash\n2. Oak\n3. Elm"
        assert proposed(three, "Name three trees.") == "<end>"
        assert proposed(three, "Name 3 trees.") == "<end>"
        assert (proposed(three, "Name four trees.") or "").startswith("\n4.")
        assert proposed("- Ash\n- Oak\n- Elm", "Name three trees.") == "<end>"
        draft = drafted(three, "Name three trees.")
        assert draft is not None
        assert draft.label == "ending"

    def test_rows_are_counted_without_their_head(self) -> None:
        table = "| Tree |No|\n|---|---|\n| Ash |1|\n| Oak |2|\n| Elm |3|"
        assert proposed(table + "\n", "Three trees as a table.") == "<end>"

    def test_the_block_that_holds_the_answer(self) -> None:
        csv = "```csv\nid,tree,high\n1,ash,21\n2,oak,19\n3,elm,23"
        assert proposed(csv, "Three trees as CSV.") == "\n```<end>"
        assert proposed("```sh\nls\n```") == "<end>"


@pytest.mark.parametrize(
    "prose",
    [
        "The sky is blue because light is scattered by the air. That is all there is to it.",
        "It was 1984. A storm came, and with it the rain: three days of it, or four.\n\nThen it ended.",
        "Dear Ann,\n\nthank you for the letter - it came today. I am well, as you see.\n\nYours, Tom",
    ],
)
def test_prose_is_left_alone(prose: str) -> None:
    right, wrong, _ = gained(prose)
    assert (right, wrong) == (0, 0)
