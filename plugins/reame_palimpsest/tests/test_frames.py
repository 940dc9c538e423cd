from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_palimpsest.frames import MARK, decode, encode
from reame_palimpsest.generations import KEPT_CONTEXT, Generation, generation, prompt_key

from plugins.reame_palimpsest.tests.support import random_generations, said, tokens
from tests.engine.support import thorough

SOME = random_generations(6, seed=3, length=12)
WHOLE = b"".join(encode(each) for each in SOME)


def same(a: Generation, b: Generation) -> bool:
    return (a.tokens.tolist(), a.answer_start, a.prompt_key, a.time) == (
        b.tokens.tolist(),
        b.answer_start,
        b.prompt_key,
        b.time,
    )


def originals(found: list[Generation]) -> list[int]:
    """Which of ``SOME`` were found; what was never written fails."""
    return [next(n for n, each in enumerate(SOME) if same(each, one)) for one in found]


@given(
    st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=20),
    st.integers(0, 19),
    st.integers(0, 2**62 - 1),
    st.integers(0, 2**40),
)
@thorough(50)
def test_what_was_written_is_read(text: list[int], start: int, key: int, time: int) -> None:
    each = Generation(tokens(*text), min(start, len(text) - 1), key, time)
    decoded = decode(encode(each) + encode(each), final=True)
    assert [same(each, one) for one in decoded.generations] == [True, True]
    assert decoded.damaged == 0


@pytest.mark.parametrize("final", [False, True])
def test_a_cut_loses_only_what_was_cut(final: bool) -> None:
    sizes = np.cumsum([len(encode(each)) for each in SOME])
    for size in range(len(WHOLE) + 1):
        decoded = decode(WHOLE[:size], final=final)
        complete = int((sizes <= size).sum())
        assert originals(decoded.generations) == list(range(complete))
        if not final:
            assert decoded.damaged == 0
            rest = decode(WHOLE[decoded.consumed :], final=True)
            assert originals(rest.generations) == list(range(complete, len(SOME)))


@given(st.integers(0, len(WHOLE) * 8 - 1))
@thorough(150)
def test_a_flipped_bit_costs_one_generation(bit: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[bit // 8] ^= 1 << bit % 8
    decoded = decode(bytes(damaged), final=True)
    assert len(decoded.generations) == len(SOME) - 1
    originals(decoded.generations)
    assert decoded.damaged > 0


@given(st.data())
@thorough(100)
def test_whatever_is_between_nothing_is_invented(data: st.DataObject) -> None:
    noise = st.one_of(
        st.binary(max_size=60), st.just(encode(SOME[0])[:24]), st.just(MARK.to_bytes(4, "little") * 9)
    )
    pieces = [data.draw(noise) + encode(each) for each in SOME]
    originals(decode(b"".join(pieces) + data.draw(noise), final=data.draw(st.booleans())).generations)


def test_tokens_that_spell_a_frame_are_none() -> None:
    words = np.frombuffer(encode(said([1], [2, 3])), "<u4")
    disguised = Generation((words & 0x7FFFFFFF).astype(np.int32), 0, 0, 1)
    frame = bytearray(encode(disguised) + encode(SOME[0]))
    frame[4] ^= 1
    assert originals(decode(bytes(frame), final=True).generations) == [0]


def test_only_the_end_of_the_prompt_is_kept() -> None:
    made = generation(np.arange(200, dtype=np.int32), 150, 5, 6)
    assert made.answer_start == KEPT_CONTEXT
    assert made.tokens.tolist() == list(range(150 - KEPT_CONTEXT, 200))
    assert made.answer.tolist() == list(range(150, 200))
    short = generation(np.arange(5, dtype=np.int32), 3, 5, 6)
    assert (short.answer_start, short.tokens.tolist()) == (3, [0, 1, 2, 3, 4])


def test_keys_of_prompts_tell_models_and_prompts_apart() -> None:
    keys = [prompt_key(model, tokens(*text)) for model in "ab" for text in ([1, 2], [2, 1], [1], [258])]
    assert len(set(keys)) == len(keys)
    assert all(0 <= key < 2**62 for key in keys)


@pytest.mark.parametrize("start", [-1, 2, 3])
def test_a_generation_has_an_answer(start: int) -> None:
    with pytest.raises(ValueError, match="no answer in 2 tokens"):
        Generation(tokens(1, 2), start, 0, 0)
