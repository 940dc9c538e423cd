from __future__ import annotations

from tests.matrix.page import PAGE, text, written


def test_the_page_says_what_is_tested() -> None:
    assert written(PAGE.read_text(encoding="utf-8")) == text(), "python -m tests.matrix.page writes it anew"
