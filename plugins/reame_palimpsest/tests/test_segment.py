from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_palimpsest.contexts import GRAM
from reame_palimpsest.generations import LONGEST_MATCH, Generation
from reame_palimpsest.live import LiveTail
from reame_palimpsest.log_file import ForeignFile
from reame_palimpsest.match import Query
from reame_palimpsest.segment import Segment, common_words, furthest
from reame_palimpsest.segment_file import DamagedFile, write_segment
from reame_palimpsest.view import View

from plugins.reame_palimpsest.tests.brute_force import common_end, longest_in
from plugins.reame_palimpsest.tests.support import TOKENIZER, random_generations, said, tokens
from tests.engine.support import thorough

ANSWERS = st.lists(
    st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=30), st.integers(0, 29)), min_size=1, max_size=8
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("segments") / "one.seg"


def segment_of(path: Path, generations: list[Generation]) -> Segment:
    write_segment(path, TOKENIZER, generations)
    return Segment(path, TOKENIZER)


@given(ANSWERS, st.lists(st.integers(0, 2), min_size=GRAM, max_size=40), st.integers(GRAM, 9))
@thorough(150)
def test_the_longest_match_is_found(
    path: Path, answers: list[tuple[list[int], int]], context: list[int], least: int
) -> None:
    generations = [
        Generation(tokens(*text), min(start, len(text) - 1), 0, time)
        for time, (text, start) in enumerate(answers)
    ]
    found = segment_of(path, generations).find(Query(tokens(*context)), least)
    assert (found.length if found else 0) == longest_in(generations, tokens(*context), least)
    if found is not None:
        place = found.place()
        assert common_end(place.tokens[: place.position].tolist(), context) == place.length
        assert place.position < len(place.tokens)
        assert place.tokens.tolist() == generations[place.time].tokens.tolist()
        assert place.position >= generations[place.time].answer_start


def test_every_place_of_every_answer_is_found(path: Path) -> None:
    generations = random_generations(60, words=50)
    segment = segment_of(path, generations)
    for each in generations:
        for position in range(max(GRAM, each.answer_start), len(each.tokens)):
            found = segment.find(Query(each.tokens[:position]), GRAM)
            assert found is not None
            place = found.place()
            assert place.length >= min(position, LONGEST_MATCH)
            assert place.tokens[place.position] == each.tokens[position]


def test_the_longest_match_is_found_in_large_buckets(path: Path) -> None:
    random = np.random.default_rng(8)
    generations = random_generations(200, words=2, length=40)
    segment = segment_of(path, generations)
    contexts = [tokens(*random.integers(0, 2, int(random.integers(GRAM, 30)))) for _ in range(40)]
    contexts += [each.tokens[: int(random.integers(GRAM, 40))] for each in generations[:20]]
    sizes = []
    for context in contexts:
        found = segment.find(Query(context), GRAM)
        assert found is not None
        sizes.append(len(found.bucket))
        assert found.length == longest_in(generations, context, GRAM)
        place = found.place()
        assert common_end(place.tokens[: place.position].tolist(), context.tolist()) == found.length
    assert min(sizes) > 256


@given(st.integers(0, 40), st.integers(0, 40), st.integers(-40, 80))
@thorough(150)
def test_the_furthest_of_a_row(start: int, first: int, last: int) -> None:
    first, last = min(first, start), max(last, start)
    for end in (0, 80):
        found = furthest(lambda index: first <= index <= last and 0 <= index <= 80, start, end)
        assert found == max(first, end) if end <= start else found == min(last, end)


def test_generations_come_back_as_they_were(path: Path) -> None:
    generations = random_generations(30)
    segment = segment_of(path, generations[::-1])
    assert segment.generation_count == 30
    assert (segment.oldest, segment.newest) == (1000, 1029)
    for number, each in enumerate(generations):
        again = segment.generation(number)
        assert again.tokens.tolist() == each.tokens.tolist()
        assert (again.answer_start, again.prompt_key, again.time) == (
            each.answer_start,
            each.prompt_key,
            each.time,
        )
        assert segment.answers_to(each.prompt_key) == [number]
    assert segment.answers_to(77) == []


def test_of_several_answers_to_a_prompt_the_latest_come_last(path: Path) -> None:
    segment = segment_of(path, [said([1], [n], key=n % 2, time=50 - n) for n in range(40)])
    assert segment.answers_to(0) == list(range(9, 40, 2))


def test_of_equal_pasts_the_most_frequent_and_then_the_latest_goes_on(path: Path) -> None:
    prompt = [1, 2, 3, 4]
    segment = segment_of(path, [said(prompt, [n % 3, n], time=n) for n in range(8)])
    found = segment.find(Query(tokens(*prompt)), GRAM)
    assert found is not None
    place = found.place()
    assert place.tokens[place.position :].tolist() == [1, 7]
    assert place.agreement == 0.4


def test_one_token_is_enough_for_a_segment(path: Path) -> None:
    segment = segment_of(path, [said([], [5])])
    assert segment.find(Query(tokens(1, 2, 3, 4)), GRAM) is None
    assert segment.generation(0).tokens.tolist() == [5]


def test_a_damaged_byte_is_noticed_wherever_it_is(path: Path) -> None:
    write_segment(path, TOKENIZER, random_generations(2, length=12))
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with pytest.raises((DamagedFile, ForeignFile)):
            Segment(path, TOKENIZER)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 500])
def test_a_cut_segment_is_noticed(path: Path, size: int) -> None:
    write_segment(path, TOKENIZER, random_generations(5))
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises((DamagedFile, ForeignFile)):
        Segment(path, TOKENIZER)


def test_another_tokenizers_segment_is_none(path: Path) -> None:
    write_segment(path, TOKENIZER[::-1], random_generations(5))
    with pytest.raises(ForeignFile):
        Segment(path, TOKENIZER)


def test_a_removed_segment_can_still_be_used(path: Path) -> None:
    [each] = random_generations(1)
    segment = segment_of(path, [each])
    path.unlink()
    assert segment.find(Query(each.tokens[:-1]), GRAM) is not None


@given(*[st.lists(st.sampled_from([b"\0\0\0\0", b"\0\0\0\1", b"\xff\xff\xff\xff"]), max_size=6)] * 2)
@thorough(100)
def test_common_words(a: list[bytes], b: list[bytes]) -> None:
    expected = 0
    while expected < min(len(a), len(b)) and a[expected] == b[expected]:
        expected += 1
    assert common_words(b"".join(a), b"".join(b)) == expected


def test_contexts_of_many_equal_records(path: Path) -> None:
    text = np.arange(100, dtype=np.int32)
    segment = segment_of(path, [Generation(text, 20, 0, time) for time in range(700)])
    found = segment.find(Query(text[:90]), GRAM)
    assert found is not None
    assert found.place().time == 699
    assert len(found.bucket) == 700


def test_of_equally_long_matches_the_latest_part_of_the_archive_goes_on(path: Path) -> None:
    prompt = [1, 2, 3, 4, 5]
    segment = segment_of(path, [said(prompt, [10], time=1)])
    tails = [LiveTail(), LiveTail()]
    for time, tail in enumerate(tails, start=2):
        tail.add(said(prompt, [10 * time], time=time))
    older, newer = tails

    def goes_on(view: View, *context: int) -> int | None:
        place = view.search(tokens(*context), GRAM)
        return place.time if place is not None else None

    assert goes_on(View((), (segment,)), *prompt) == 1
    assert goes_on(View((older,), (segment,)), *prompt) == 2
    assert goes_on(View((newer, older), (segment,)), *prompt) == 3
    assert goes_on(View((newer,), (segment_of(path, [said([9, *prompt], [10], time=1)]),)), 9, *prompt) == 1
    newer.add(said([9, *prompt], [40], time=4))
    assert goes_on(View((newer, older), (segment,)), 9, *prompt) == 4
    assert goes_on(View((newer, older), (segment,)), 9, 9, 9, 9) is None
