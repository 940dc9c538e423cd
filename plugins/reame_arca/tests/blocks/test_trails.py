from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_arca.blocks.trails import Member, decode_member, trail_of
from reame_diskkv.chain import common_tokens, encode

from plugins.reame_arca.tests.real_store import RealStore
from tests.engine.support import thorough

TEXTS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=12), min_size=1, max_size=12)


def encoded(tokens: list[int]) -> bytes:
    return encode(np.array(tokens, np.int32))


def member(tokens: list[int], number: int = 0) -> Member:
    return Member(trail_of("parent", encoded(tokens)), number.to_bytes(20, "big"), 1000 + number)


@thorough(200)
@given(TEXTS, st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_a_neighbour_in_the_order_of_trails_has_most_in_common(
    texts: list[list[int]], wanted: list[int]
) -> None:
    members = [member(tokens, number) for number, tokens in enumerate(texts)]
    most = max(common_tokens(encoded(tokens), encoded(wanted)) for tokens in texts)
    trail = trail_of("parent", encoded(wanted))
    after = min((each for each in members if each.encode() >= trail), key=Member.encode, default=None)
    before = max((each for each in members if each.encode() < trail), key=Member.encode, default=None)
    assert max(each.common(trail) for each in (before, after) if each is not None) == most


def test_a_beginning_comes_right_before_what_goes_on_from_there() -> None:
    for number in range(50):
        members = [member([7, *range(length)], number + length) for length in range(1, 6)]
        assert sorted(each.encode() for each in members) == [each.encode() for each in members]


def test_a_trail_tells_nothing_without_the_name() -> None:
    tokens = encoded([1, 2, 3])
    assert trail_of("one", tokens) != trail_of("other", tokens)
    assert len(trail_of("one", tokens)) == 6


def test_members_come_back_as_they_were() -> None:
    made = member([1, 2, 3], 7)
    assert decode_member(made.encode()) == made


@pytest.mark.parametrize("value", [None, b"", b"short", b"x" * 25, b"x" * 26, 7, "text"])
def test_what_is_no_member(value: object) -> None:
    assert decode_member(value) is None


def test_the_store_orders_as_bytes_are_ordered(store: RealStore) -> None:
    members = [member([number % 5, number % 3, number], number) for number in range(60)]
    with store.client() as client:
        client.zadd("x", {each.encode(): 0 for each in members})
        assert client.zrangebylex("x", "-", "+") == sorted(each.encode() for each in members)
