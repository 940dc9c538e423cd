"""What the indexes should find, found slowly."""

from __future__ import annotations

from collections.abc import Iterable

from reame_palimpsest.generations import LONGEST_MATCH, Generation, Tokens


def common_end(past: list[int], context: list[int]) -> int:
    """How many tokens at the end of both are the same, as far back as anybody looks."""
    length = 0
    for a, b in zip(reversed(past), reversed(context[-LONGEST_MATCH:]), strict=False):
        if a != b:
            break
        length += 1
    return length


def longest_in(generations: Iterable[Generation], context: Tokens, least: int) -> int:
    """The longest past that a token of an answer has in common with ``context``; 0 below ``least``."""
    wanted = context.tolist()
    longest = 0
    for each in generations:
        said = each.tokens.tolist()
        for position in range(max(1, each.answer_start), len(said)):
            longest = max(longest, common_end(said[:position], wanted))
    return longest if longest >= least else 0


def longest_repetition(tokens: list[int], least: int) -> tuple[int, list[int]]:
    """How many of the newest tokens occurred before at most, and the places behind these occurrences."""
    lengths = {place: common_end(tokens[:place], tokens) for place in range(1, len(tokens))}
    length = max(lengths.values(), default=0)
    if length < least:
        return 0, []
    return length, [place for place in lengths if lengths[place] == length]
