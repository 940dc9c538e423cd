"""From tokens to text: whole characters, no byte of a stop text, tokens that fit their text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reame_core.engine.events import TokenLogprob
from reame_core.engine.output import OutputText
from tests.engine.support import FakeBackend, answers, engine_on, greedy, plain, play, prompt, thorough

EMOJI = "👩‍🚀 你好 é 🇪🇸 e\u0301 ok"


def spoken(pieces: list[bytes], stops: tuple[str, ...] = ()) -> tuple[list[str], str | None, list[int]]:
    """(deltas, stop text, delivered tokens) of tokens with these pieces, taken after each token."""
    output = OutputText(stops)
    deltas: list[str] = []
    delivered: list[int] = []

    def take(*, final: bool) -> None:
        ready = output.take(final=final)
        if ready is not None:
            assert ready.text or ready.tokens
            deltas.append(ready.text)
            delivered.extend(ready.tokens)
            assert [p.token for p in ready.logprobs] == list(ready.tokens)

    for number, piece in enumerate(pieces):
        stopped = output.push(number, piece, TokenLogprob(number, -1.0))
        take(final=stopped)
        if stopped:
            break
    else:
        take(final=True)
    assert output.text == "".join(deltas)
    return deltas, output.stopped_by, delivered


def cut(text: str, stops: tuple[str, ...]) -> tuple[str, str | None]:
    """The plain rule: the stop text that is complete first ends the answer; of several that are complete at
    the same character, the longest."""
    for end in range(1, len(text) + 1):
        found = [stop for stop in stops if text[:end].endswith(stop)]
        if found:
            longest = max(found, key=len)
            return text[: end - len(longest)], longest
    return text, None


@st.composite
def split_texts(draw: st.DrawFn, alphabet: str) -> tuple[str, list[bytes]]:
    text = draw(st.text(alphabet, max_size=24))
    data = text.encode()
    cuts = sorted(draw(st.sets(st.integers(0, len(data)), max_size=len(data) + 1)))
    edges = [0, *cuts, len(data)]
    return text, [data[a:b] for a, b in pairwise(edges)]


@thorough(300)
@given(split_texts(EMOJI + "abc"))
def test_any_split_of_any_text_gives_the_text_in_whole_characters(case: tuple[str, list[bytes]]) -> None:
    # case 73
    text, pieces = case
    deltas, stopped_by, delivered = spoken(pieces)
    assert "".join(deltas) == text
    assert "\ufffd" not in "".join(deltas)
    assert stopped_by is None
    assert delivered == list(range(len(pieces)))
    for delta in deltas:
        delta.encode()


@thorough(500)
@given(
    split_texts("aabbcé🚀"),
    st.lists(st.text("aabbcé🚀", min_size=1, max_size=4), min_size=1, max_size=4).map(tuple),
)
@example(("abc", [b"abc"]), ("abc", "b"))
@example(("abc", [b"a", b"b", b"c"]), ("abc", "b"))
@example(("xab", [b"xab"]), ("b", "ab"))
@example(("aab", [b"aa", b"b"]), ("ab",))
def test_stop_texts_cut_the_same_place_in_any_split(
    case: tuple[str, list[bytes]], stops: tuple[str, ...]
) -> None:
    # case 75
    text, pieces = case
    deltas, stopped_by, _ = spoken(pieces, stops)
    assert ("".join(deltas), stopped_by) == cut(text, stops)


@thorough(300)
@given(
    split_texts("aabbc"),
    st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=3).map(tuple),
)
def test_delivered_tokens_cover_the_text_and_no_more_than_one_token_reaches_beyond(
    case: tuple[str, list[bytes]], stops: tuple[str, ...]
) -> None:
    # case 46
    _, pieces = case
    deltas, stopped_by, delivered = spoken(pieces, stops)
    said = "".join(deltas)
    assert delivered == list(range(len(delivered)))
    joined = b"".join(pieces[t] for t in delivered).decode()
    assert joined.startswith(said)
    if stopped_by is None:
        assert joined == said
    elif delivered:
        assert not joined[: len(joined) - len(pieces[delivered[-1]])].startswith(said) or joined == said


@thorough(300)
@given(
    split_texts("aabbc🚀"),
    st.lists(st.integers(0, 24), max_size=4),
    st.lists(st.text("abc🚀", min_size=1, max_size=4), max_size=3).map(tuple),
)
@example(("a", [b"a"]), [0], ("a",))
def test_nothing_depends_on_how_many_tokens_come_at_once(
    case: tuple[str, list[bytes]], silent: list[int], stops: tuple[str, ...]
) -> None:
    """With drafts several tokens come before anything is taken; some tokens have no text."""
    pieces = list(case[1])
    for place in silent:
        pieces.insert(place, b"")
    one_by_one = spoken(pieces, stops)
    output = OutputText(stops)
    for number, piece in enumerate(pieces):
        if output.push(number, piece):
            break
    ready = output.take(final=True)
    said = (ready.text, list(ready.tokens)) if ready else ("", [])
    assert said == ("".join(one_by_one[0]), one_by_one[2])
    assert output.stopped_by == one_by_one[1]


@thorough(200)
@given(split_texts("ab\u00e9🚀"))
def test_each_delta_holds_the_tokens_whose_text_is_complete(case: tuple[str, list[bytes]]) -> None:
    _, pieces = case
    output = OutputText()
    said, given_out = "", 0
    for number, piece in enumerate(pieces):
        output.push(number, piece)
        ready = output.take()
        if ready is not None:
            said += ready.text
            given_out += len(ready.tokens)
        held = b"".join(pieces[: number + 1])
        assert said == held.decode(errors="ignore")
        assert b"".join(pieces[:given_out]) == said.encode()[: len(b"".join(pieces[:given_out]))]


def test_a_stop_text_over_several_tokens_is_never_seen() -> None:
    # case 75
    pieces = [b"alp", b"ha ", b"be", b"ta", b" ga", b"mma de", b"lta"]
    deltas, stopped_by, delivered = spoken(pieces, ("beta gamma",))
    assert deltas == ["alp", "ha "]
    assert stopped_by == "beta gamma"
    assert delivered == [0, 1]


@pytest.mark.parametrize(
    ("stops", "said"),
    [(("beta gamma",), "alpha "), (("ma del",), "alpha beta gam"), (("\nUser:",), "alpha beta gamma delta")],
)
@pytest.mark.parametrize("size", range(1, 9))
def test_stops_of_the_report(stops: tuple[str, ...], said: str, size: int) -> None:
    # case 75
    data = b"alpha beta gamma delta"
    deltas, _, _ = spoken([data[i : i + size] for i in range(0, len(data), size)], stops)
    assert "".join(deltas) == said


def test_text_that_only_looked_like_a_stop_comes_at_last() -> None:
    deltas, stopped_by, delivered = spoken([b"a\nUs", b"er", b" b\nUse"], ("\nUser:",))
    assert "".join(deltas) == "a\nUser b\nUse"
    assert deltas[0] == "a"
    assert stopped_by is None
    assert delivered == [0, 1, 2]


def test_a_token_with_part_of_a_stop_is_delivered_with_its_first_half() -> None:
    deltas, _, delivered = spoken([b"one ", b"two ha", b" ha", b"x"], (" ha ha",))
    assert "".join(deltas) == "one two"
    assert delivered == [0, 1]


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    deltas, _, _ = spoken([b"a\xff", b"b\xc3", b"c"])
    assert "".join(deltas) == "a\ufffdb\ufffdc"


def test_the_end_of_an_answer_drops_half_a_character() -> None:
    # case 74
    rocket = "🚀".encode()
    deltas, _, delivered = spoken([b"a", rocket[:3]])
    assert "".join(deltas) == "a"
    assert delivered == [0, 1]


def test_control_tokens_without_text_are_delivered() -> None:
    deltas, _, delivered = spoken([b"", b"a", b""])
    assert "".join(deltas) == "a"
    assert delivered == [0, 1, 2]


@pytest.mark.parametrize("max_tokens", range(1, 30))
def test_max_tokens_in_the_middle_of_a_character(max_tokens: int) -> None:
    # case 74
    backend = {"replies": {"say it": EMOJI}}
    request = greedy("say it", max_tokens, logprobs=2)
    [[(text, tokens, reason, stopped_by, completion)]] = answers(backend, {}, request)
    data = EMOJI.encode()
    assert isinstance(text, str)
    assert EMOJI.startswith(text)
    assert "\ufffd" not in text
    if max_tokens < 28:
        assert (reason, completion, stopped_by) == ("length", max_tokens, None)
    assert isinstance(tokens, tuple)
    joined = b"".join(FakeBackend().piece(t) for t in tokens)
    assert data.startswith(joined)
    assert joined.decode(errors="ignore") == text


def test_a_scripted_answer_with_every_kind_of_character() -> None:
    # case 73
    engine = engine_on(FakeBackend(replies={"say it": EMOJI}))
    [answer] = play(engine, greedy("say it", 60, logprobs=0))[0]
    assert answer.text == EMOJI
    assert answer.reason == "stop"
    assert b"".join(engine.backend.piece(p.token) for p in answer.logprobs).decode() == EMOJI  # case 103


@pytest.mark.parametrize("stop", ["mm", "gamma d", "a b", " ", "a", "delta", "nowhere"])
def test_stops_in_a_running_engine_equal_the_plain_rule(stop: str) -> None:
    # case 75
    text = "alpha beta gamma delta"
    request = greedy("go", 60, stop=(stop, "\n"))
    [[(said, _, reason, stopped_by, _)]] = answers({"replies": {"go": text}}, {}, request)
    wanted, by = cut(text, (stop, "\n"))
    assert (said, stopped_by) == (wanted, by if by is not None else 257)
    assert reason == "stop"
    assert plain(request, replies={"go": text})[0][0] == said


def test_the_prompt_does_not_count_for_stops() -> None:
    request = greedy(prompt("x stop y"), 5, stop=("stop",))
    [[(_, _, reason, _, completion)]] = answers({}, {}, request)
    assert (reason, completion) == ("length", 5)
