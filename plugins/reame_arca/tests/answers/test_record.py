"""Answers as values: what comes out is what went in, or nothing."""

from __future__ import annotations

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from reame_arca.answers.record import MOST_RAW_BYTES, decode, encode

from reame_core.answers import Record, answer_of
from reame_core.engine.events import TextDelta, TokenLogprob
from reame_core.engine.request import Request
from reame_core.plugins.api import AnsweredChoice, Question

VOCABULARY = 100
tokens = st.integers(0, VOCABULARY - 1)
numbers = st.floats(allow_nan=False, max_value=0)


def question(n: int = 1, logprobs: int | None = None, room: int = 1000) -> Question:
    return Question(Request(prompt=(1,), n=n, logprobs=logprobs), room, False)


@st.composite
def choices(draw: st.DrawFn, number: int, logprobs: bool) -> AnsweredChoice:
    deltas = []
    for ids in draw(st.lists(st.lists(tokens, max_size=3).map(tuple), max_size=5)):
        told = (
            tuple(
                TokenLogprob(
                    token, draw(numbers), tuple(draw(st.lists(st.tuples(tokens, numbers), max_size=2)))
                )
                for token in ids
            )
            if logprobs
            else ()
        )
        deltas.append(TextDelta(number, draw(st.text(max_size=5)), ids, told))
    completion = sum(len(delta.tokens) for delta in deltas) + draw(st.integers(0, 3))
    stopped_by = draw(st.none() | st.text(max_size=3) | tokens)
    return AnsweredChoice(tuple(deltas), draw(st.sampled_from(["stop", "length"])), completion, stopped_by)


@given(st.data(), st.booleans(), st.integers(1, 3))
def test_an_answer_comes_out_as_it_went_in(data: st.DataObject, logprobs: bool, n: int) -> None:
    answer = [data.draw(choices(number, logprobs)) for number in range(n)]
    record = decode(encode(b"material", 12.5, answer))
    assert record is not None
    assert (record.material, record.made_at) == (b"material", 12.5)
    assert answer_of(record, question(n, 2 if logprobs else None), VOCABULARY) == answer


@given(st.binary(max_size=300))
def test_anything_else_is_none(payload: bytes) -> None:
    assert decode(payload) is None


@given(st.integers(0, 2000), st.integers(1, 255))
def test_damaged_records_never_raise(place: int, mask: int) -> None:
    payload = bytearray(encode(b"m" * 600, 1.0, [AnsweredChoice([TextDelta(0, "x" * 90, (1,))], "stop", 1)]))
    payload[place % len(payload)] ^= mask
    decode(bytes(payload))


def test_a_record_that_would_unfold_to_gigabytes_is_none() -> None:
    bomb = zstandard.ZstdCompressor(level=1).compress(bytes(MOST_RAW_BYTES + 1))
    assert len(bomb) < 100_000
    assert decode(b"z" + bomb) is None


def test_a_record_of_another_version_is_none() -> None:
    assert decode(b"r" + msgspec.msgpack.encode(Record(2, b"m", 1.0, []))) is None
    assert decode(b"r" + msgspec.msgpack.encode(Record(1, b"m", 1.0, []))) is not None


def answer(
    text: str = "x", ids: tuple[int, ...] = (1,), completion: int = 1, logprobs: int = 0
) -> AnsweredChoice:
    told = tuple(TokenLogprob(token, -1.0) for token in ids[:logprobs])
    return AnsweredChoice([TextDelta(0, "x", ids, told)], "stop", completion)


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ([answer()], question(n=2)),
        ([answer(ids=(VOCABULARY,))], question()),
        ([answer(ids=(-1,))], question()),
        ([answer(completion=0)], question()),
        ([answer(completion=11)], question(room=10)),
        ([answer()], question(logprobs=0)),
        ([answer(logprobs=1)], question()),
        ([answer(ids=(1, 2), completion=2, logprobs=1)], question(logprobs=0)),
    ],
)
def test_answers_that_cannot_be_of_this_question_are_none(told: list[AnsweredChoice], asked: Question) -> None:
    record = decode(encode(b"", 1.0, told))
    assert record is not None
    assert answer_of(record, asked, VOCABULARY) is None
