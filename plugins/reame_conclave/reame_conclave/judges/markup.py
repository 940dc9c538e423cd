r"""Texts without their clothes: LaTeX, Markdown, typographic variants of digits, signs and spaces."""

from __future__ import annotations

import re
import unicodedata

READ = 8_000
"""Characters at the end of a text that judges look at: what comes before them is no final answer."""

_SUPERSCRIPT = re.compile("[⁻⁰¹²³⁴-⁹]+")
_VULGAR = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
_FRACTION = re.compile(r"(\d?)\s*\\[dt]?frac\s*(?:\{\s*(-?[\d.,]+)\s*\}\s*\{\s*([\d.,]+)\s*\}|(\d)\s*(\d))")
_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|operatorname)\s*\{([^{}]*)\}")
_REPLACED = (
    (re.compile(r"\\(?:left|right|displaystyle)\b|\\[,!;: ]|\\[()\[\]]|~"), ""),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\(?:times|cdot)\b"), "×"),
    (re.compile(r"\\approx\b"), "≈"),
    (re.compile(r"\\([%#&_{}])"), r"\1"),
    (re.compile(r"\\?[$€£¥₹]"), ""),
    (re.compile(r"\*\*|__|`"), ""),
    (re.compile(r"[−‒﹣－]"), "-"),
    (re.compile(r"(?<![\w–])–(?=\d)"), "-"),
    (re.compile(r"[’ʼ]"), "'"),
    (re.compile(r"[\u00a0\u2000-\u200a\u202f]"), " "),
)


def plain(text: str) -> str:
    r"""``text`` with ``\frac{3}{4}`` as 3/4, ``\$1{,}000`` as 1,000, ½ as 1/2, **5** as 5; line breaks stay."""
    text = text[-READ:]
    text = _SUPERSCRIPT.sub(lambda m: "^" + unicodedata.normalize("NFKC", m[0]).replace("−", "-"), text)
    text = unicodedata.normalize("NFKC", _VULGAR.sub(" ", text)).replace("⁄", "/")
    text = _TEXT.sub(r" \1 ", _FRACTION.sub(_fraction, text))
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    return text


def behind_thoughts(text: str) -> str:
    """What a reasoning model says when it has thought: what it considered on the way is no answer."""
    thoughts, mark, said = text.rpartition("</think>")
    return said if mark else thoughts + said.partition("<think>")[0]


def _fraction(match: re.Match[str]) -> str:
    before, top, bottom, tens, ones = match.groups()
    return f"{before} {top or tens}/{bottom or ones}" if before else f"{top or tens}/{bottom or ones}"


def bare(text: str) -> str:
    """``text`` in one line, in small letters, without quotes, brackets and full stops around it: texts that
    differ in that alone say the same."""
    folded = " ".join(unicodedata.normalize("NFKC", text[-READ:]).casefold().split())
    return folded.strip(" .,;:!?\"'`*_()[]{}«»„“”‘’\\$")
