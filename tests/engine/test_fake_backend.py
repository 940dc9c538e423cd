"""The fake has to notice what a real model would notice: every wrong cell changes what it says."""

from __future__ import annotations

import numpy as np
import pytest

from reame_core.engine.backend import OutOfCells, Rows
from reame_core.errors import EngineError
from reame_core.testing import FakeBackend, FakeClock
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import words


def feed(backend: FakeBackend, sequence: int, tokens: tuple[int, ...], position: int = 0) -> np.ndarray:
    """Compute ``tokens`` in one batch; the logits of the last."""
    rows = Rows()
    rows.add(sequence, position, list(tokens), logits_from=len(tokens) - 1)
    backend.decode(rows)
    return backend.logits()[-1].copy()


TEXT = words(12)


def test_logits_do_not_depend_on_batches_or_sequence_numbers() -> None:
    whole = feed(FakeBackend(), 0, TEXT)
    backend = FakeBackend()
    feed(backend, 3, words(5, 1))
    for i, token in enumerate(TEXT):
        line = feed(backend, 2, (token,), i)
    np.testing.assert_array_equal(line, whole)


@pytest.mark.parametrize("place", range(11))
def test_every_earlier_token_matters(place: int) -> None:
    changed = (*TEXT[:place], 7, *TEXT[place + 1 :])
    assert not np.array_equal(feed(FakeBackend(), 0, TEXT), feed(FakeBackend(), 0, changed))


def test_a_lost_a_foreign_or_a_misplaced_cell_changes_the_logits() -> None:
    wanted = feed(FakeBackend(), 0, TEXT)

    def prepared() -> FakeBackend:
        backend = FakeBackend()
        feed(backend, 0, TEXT[:11])
        return backend

    lost, foreign, misplaced = prepared(), prepared(), prepared()
    lost._owners[4, 0] = False
    lost._owners[lost.used_cells() + 1, 0] = True  # the count is right
    lost._positions[lost.used_cells()] = 4
    assert not np.array_equal(feed(lost, 0, TEXT[11:], 11), wanted)
    feed(foreign, 1, words(11, 3))
    foreign._owners[[4, 15], 0] = [False, True]
    assert not np.array_equal(feed(foreign, 0, TEXT[11:], 11), wanted)
    misplaced._positions[[4, 5]] = misplaced._positions[[5, 4]]
    assert not np.array_equal(feed(misplaced, 0, TEXT[11:], 11), wanted)


def test_rows_that_do_not_follow_are_refused() -> None:
    backend = FakeBackend()
    feed(backend, 0, TEXT)
    for position in (0, 11, 13):
        with pytest.raises(AssertionError, match="12 cells"):
            feed(backend, 0, (97,), position)


def test_copies_share_and_truncate_lets_go() -> None:
    backend = FakeBackend()
    feed(backend, 0, TEXT)
    backend.copy(0, 1, 8)
    assert (backend.length(1), backend.used_cells()) == (8, 12)
    with pytest.raises(AssertionError, match="not empty"):
        backend.copy(0, 1, 2)
    assert backend.truncate(0, 5)
    assert (backend.length(0), backend.used_cells()) == (5, 8)
    np.testing.assert_array_equal(feed(backend, 1, TEXT[8:], 8), feed(FakeBackend(), 0, TEXT))
    assert backend.covers(1, 12)
    assert not backend.covers(0, 6)


def test_exported_cells_say_the_same_elsewhere() -> None:
    source, target = FakeBackend(), FakeBackend()
    feed(source, 0, TEXT)
    feed(target, 5, words(9, 1))
    for start, end in ((0, 4), (4, 11)):
        assert target.import_range(1, start, end, source.export_range(0, start, end))
    np.testing.assert_array_equal(feed(target, 1, TEXT[11:], 11), feed(FakeBackend(), 0, TEXT))


def test_what_does_not_fit_is_not_imported() -> None:
    source, target = FakeBackend(), FakeBackend(cells=8)
    feed(source, 0, TEXT)
    state = source.export_range(0, 0, 4)
    for start, end, wrong in (
        (0, 5, state),
        (1, 5, state),
        (0, 4, state[:-1]),
        (0, 4, b""),
        (0, 4, b"x" * 200),
    ):
        assert not target.import_range(1, start, end, wrong)
    assert not target.import_range(1, 0, 12, source.export_range(0, 0, 12))
    assert target.used_cells() == 0
    assert target.import_range(1, 0, 4, state)
    assert not target.import_range(1, 0, 4, state)


def test_retired_cells_are_occupied_until_reclaimed() -> None:
    backend = FakeBackend(cells=12)
    feed(backend, 0, TEXT[:10])
    backend.copy(0, 1, 6)
    backend.retire(0, 4)
    assert (backend.length(0), backend.length(1), backend.used_cells()) == (4, 6, 10)
    backend.truncate(1, 0)
    with pytest.raises(OutOfCells):
        feed(backend, 2, TEXT[:3])
    backend.reclaim()
    assert backend.used_cells() == 4


def test_a_recurrent_fake_is_kept_whole() -> None:
    backend = FakeBackend(recurrent=True)
    feed(backend, 0, TEXT)
    assert not backend.truncate(0, 5)
    assert backend.length(0) == 12
    for use in (lambda: backend.copy(0, 1, 5), lambda: backend.export_range(0, 0, 5)):
        with pytest.raises(AssertionError):
            use()
    state = backend.export_range(0, 0, 12)
    other = FakeBackend(recurrent=True)
    assert other.import_range(3, 0, 12, state)
    np.testing.assert_array_equal(feed(other, 3, (97,), 12), feed(backend, 0, (97,), 12))
    assert backend.truncate(0, 0)


def test_a_window_forgets_what_lies_before_it() -> None:
    far = FakeBackend(window=6)
    line = feed(far, 0, TEXT)
    assert not np.array_equal(line, feed(FakeBackend(), 0, TEXT))
    np.testing.assert_array_equal(feed(FakeBackend(window=6), 0, TEXT[:6]), feed(FakeBackend(), 0, TEXT[:6]))


def test_the_order_of_cells_matters_where_it_is_asked_for() -> None:
    def scattered(order_matters: bool) -> np.ndarray:
        backend = FakeBackend(order_matters=order_matters)
        feed(backend, 0, words(3, 1))
        feed(backend, 1, TEXT[:6])
        backend.truncate(0, 0)
        return feed(backend, 1, TEXT[6:], 6)

    assert not np.array_equal(scattered(True), feed(FakeBackend(order_matters=True), 0, TEXT))
    np.testing.assert_array_equal(scattered(False), feed(FakeBackend(), 0, TEXT))


def test_limits_of_a_batch() -> None:
    with pytest.raises(OutOfCells):
        feed(FakeBackend(cells=11), 0, TEXT)
    with pytest.raises(AssertionError, match="rows"):
        feed(FakeBackend(max_rows=11), 0, TEXT)
    rows = Rows()
    assert rows.add(0, 0, list(TEXT), logits_from=9) == 0
    assert rows.add(1, 0, [97, 98], logits_from=1) == 3
    with pytest.raises(AssertionError, match="outputs"):
        FakeBackend(max_outputs=3).decode(rows)
    backend = FakeBackend()
    backend.decode(rows)
    assert backend.logits().shape == (4, vocabulary.SIZE)
    assert not backend.logits().flags.writeable


def test_failing_leaves_half_of_the_rows_behind() -> None:
    backend = FakeBackend(fail_on=[0])
    with pytest.raises(EngineError):
        feed(backend, 0, TEXT)
    assert 0 < backend.used_cells() < 12
    assert backend.rows_computed == 0


def test_replies_come_after_their_key_also_in_a_chat() -> None:
    backend = FakeBackend(replies={"ping": "pong"})
    template = "<|im_start|>user\nping<|im_end|>\n<|im_start|>assistant\n"
    for text in ("ping", template):
        tokens = [vocabulary.BOS, *vocabulary.tokenize(text, parse_special=True)]
        rest = [*b"pong", vocabulary.EOS]
        fresh = FakeBackend(replies={"ping": "pong"})
        line = feed(fresh, 0, tuple(tokens))
        for i, expected in enumerate(rest):
            assert int(line.argmax()) == expected
            line = feed(fresh, 0, (expected,), len(tokens) + i)
    assert backend.tokenize("the thing") == [*vocabulary.tokenize("the thing")]
    assert b"".join(backend.piece(t) for t in backend.tokenize("the  abc 12 é")) == "the  abc 12 é".encode()


def test_user_text_is_never_a_control_token() -> None:
    assert vocabulary.EOS not in vocabulary.tokenize("</s>")
    assert vocabulary.tokenize("</s>", parse_special=True) == [vocabulary.EOS]
    assert FakeBackend().piece(vocabulary.EOS) == b""


def test_the_clock_moves_with_the_rows() -> None:
    clock = FakeClock(lambda rows: 5.0 * rows)
    backend = FakeBackend(clock=clock)
    feed(backend, 0, TEXT)
    assert clock() == pytest.approx(0.060)
    assert backend.row_counts == [12]


def test_closing_and_clearing() -> None:
    backend = FakeBackend()
    feed(backend, 0, TEXT)
    backend.clear()
    assert backend.used_cells() == 0
    backend.close()
    assert backend.closed
