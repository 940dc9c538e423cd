from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_palimpsest.budget import keep_within
from reame_palimpsest.generations import Generation
from reame_palimpsest.log_file import forget_mark, new_name

from plugins.reame_palimpsest.tests.shelves import DAY, NOW, Clock, has, kinds, shelf, small, untidy
from plugins.reame_palimpsest.tests.support import TOKENIZER, random_generations, said
from tests.engine.support import thorough

SOME = random_generations(12)
MANY = random_generations(120, seed=5)


def test_what_was_added_is_found_at_once(tmp_path: Path) -> None:
    opened = shelf(tmp_path)
    for number, each in enumerate(SOME):
        assert not has(opened, each)
        assert opened.add(each)
        assert all(has(opened, one) for one in SOME[: number + 1])


def test_it_is_found_in_the_next_process_sealed_or_not(tmp_path: Path) -> None:
    first = shelf(tmp_path)
    for each in SOME[:6]:
        first.add(each)
    first.close()
    assert kinds(tmp_path) == {".seg": 1, ".log": 0}
    second = shelf(tmp_path)
    for each in SOME[6:]:
        second.add(each)
    assert all(has(second, each) for each in SOME)
    assert all(has(shelf(tmp_path), each) for each in SOME), "while the second still writes its log"


def test_processes_see_each_other(tmp_path: Path) -> None:
    shelves = [shelf(tmp_path) for _ in range(3)]
    for number, each in enumerate(SOME):
        shelves[number % 3].add(each)
    for opened in shelves:
        opened.refresh()
        assert all(has(opened, each) for each in SOME)
    shelves[0].close()
    for opened in shelves[1:]:
        opened.refresh()
        assert all(has(opened, each) for each in SOME)
    assert kinds(tmp_path) == {".seg": 1, ".log": 2}


def test_the_log_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    dead = shelf(tmp_path)
    for each in SOME:
        dead.add(each)
    assert dead._log is not None
    dead._log.close()
    heir = shelf(tmp_path)
    assert kinds(tmp_path) == {".seg": 1, ".log": 0}
    assert all(has(heir, each) for each in SOME)


def test_a_log_that_never_began_is_removed(tmp_path: Path) -> None:
    (tmp_path / new_name(".log")).write_bytes(b"")
    shelf(tmp_path)
    assert kinds(tmp_path) == {".seg": 0, ".log": 0}


def test_a_living_log_is_not_taken_over(tmp_path: Path) -> None:
    writer, other = shelf(tmp_path), shelf(tmp_path)
    writer.add(SOME[0])
    other.tidy()
    writer.add(SOME[1])
    other.refresh()
    assert has(other, SOME[0])
    assert has(other, SOME[1])
    assert kinds(tmp_path) == {".seg": 0, ".log": 1}


def test_few_segments_hold_everything(tmp_path: Path) -> None:
    opened = small(tmp_path)
    for each in MANY:
        opened.add(each)
    counts = kinds(tmp_path)
    assert 3 <= counts[".seg"] <= 8
    assert all(has(opened, each) for each in MANY)
    opened.close()
    reopened = shelf(tmp_path)
    assert kinds(tmp_path) == {".seg": 1, ".log": 0}, "a larger budget merges them all"
    assert all(has(reopened, each) for each in MANY)
    assert [s.generation_count for s in reopened.view.segments] == [len(MANY)]


def test_the_same_answer_is_archived_once_a_day(tmp_path: Path) -> None:
    opened = shelf(tmp_path)
    assert opened.add(said([1, 2], [3, 4, 5], key=1, time=NOW))
    assert not opened.add(said([1, 2], [3, 4, 5], key=1, time=NOW + 1))
    assert not opened.add(said([1, 2], [3, 4], key=1, time=NOW + 1)), "the beginning of it"
    assert opened.add(said([1, 2], [3, 4, 6], key=1, time=NOW + 1))
    assert opened.add(said([1, 2], [3, 4, 5, 6], key=1, time=NOW + 1))
    assert opened.add(said([1, 2], [3, 4, 5], key=2, time=NOW + 1)), "another prompt"
    assert opened.add(said([1, 2], [3, 4, 5], key=1, time=NOW + 2 * DAY)), "so that it does not grow old"


def test_of_several_answers_to_one_prompt(tmp_path: Path) -> None:
    opened = shelf(tmp_path)
    for time, answer in enumerate(([3, 4, 5], [3, 6, 7], [8, 9])):
        opened.add(said([1, 2], answer, key=1, time=NOW + time))
    place = opened.view.answer(1, 2, said([], [3, 4]).answer)
    assert place is not None
    assert (place.tokens[place.position :].tolist(), place.length) == ([5], 4)
    place = opened.view.answer(1, 2, said([], [3]).answer)
    assert place is not None
    assert (place.tokens[place.position :].tolist(), place.agreement) == ([6, 7], pytest.approx(2 / 3))
    assert opened.view.answer(1, 2, said([], [8, 9]).answer) is None
    assert opened.view.answer(1, 2, said([], [1]).answer) is None


class TestForgetting:
    def test_what_is_too_old_is_neither_used_nor_kept(self, tmp_path: Path) -> None:
        clock = Clock()
        opened = shelf(tmp_path, clock, ttl_days=10)
        old, young = said([1] * 5, [2] * 9, key=1, time=NOW), said([3] * 5, [4] * 9, key=2, time=NOW + 5 * DAY)
        opened.add(old)
        opened.add(young)
        opened.seal()
        clock.now = NOW + 10 * DAY
        opened.refresh()
        assert not has(opened, old)
        assert has(opened, young)
        clock.now = NOW + 12 * DAY
        opened.tidy()
        [segment] = opened.view.segments
        assert segment.generation_count == 1
        clock.now = NOW + 16 * DAY
        opened.tidy()
        assert kinds(tmp_path) == {".seg": 0, ".log": 0}

    def test_a_log_that_is_hardly_written_to_expires_too(self, tmp_path: Path) -> None:
        clock = Clock()
        opened = shelf(tmp_path, clock, ttl_days=10)
        opened.add(said([1] * 5, [2] * 9, key=1, time=NOW))
        opened.add(said([3] * 5, [4] * 9, key=2, time=NOW + 5 * DAY))
        clock.now = NOW + 11 * DAY
        opened.tidy()
        assert kinds(tmp_path) == {".seg": 1, ".log": 0}
        assert [each.generation_count for each in opened.view.sources] == [1]

    def test_a_mark_beside_a_living_log_is_obeyed(self, tmp_path: Path) -> None:
        writer, reader = shelf(tmp_path), shelf(tmp_path)
        old, young = said([1] * 5, [2] * 9, key=1, time=5), said([3] * 5, [4] * 9, key=2, time=6)
        writer.add(old)
        writer.add(young)
        reader.refresh()
        [log] = tmp_path.glob("*.log")
        forget_mark(log).write_text("5")
        reader.refresh()
        assert not has(reader, old)
        writer.refresh()
        reader.refresh()
        for opened in (writer, reader):
            assert not has(opened, old)
            assert has(opened, young)
        assert kinds(tmp_path) == {".seg": 1, ".log": 0}

    @pytest.mark.parametrize(("mark", "left"), [("5", 1), ("6", 0), ("garbage", 0), ("", 0)])
    def test_a_mark_outlives_its_log(self, tmp_path: Path, mark: str, left: int) -> None:
        dead = shelf(tmp_path)
        dead.add(said([1] * 5, [2] * 9, key=1, time=5))
        dead.add(said([3] * 5, [4] * 9, key=2, time=6))
        assert dead._log is not None
        dead._log.close()
        [log] = tmp_path.glob("*.log")
        forget_mark(log).write_text(mark)
        heir = shelf(tmp_path)
        assert sum(each.generation_count for each in heir.view.sources) == left
        assert kinds(tmp_path) == {".seg": left, ".log": 0}


class TestBudget:
    def place(self, root: Path, tenant: str) -> Path:
        return root / TOKENIZER / (tenant * 32)

    def size(self, root: Path) -> int:
        return sum(path.stat().st_size for path in root.rglob("*.*") if path.suffix in (".seg", ".log"))

    def test_the_oldest_go_first_whoever_they_belong_to(self, tmp_path: Path) -> None:
        folders = [self.place(tmp_path, tenant) for tenant in "ab"]
        opened = [untidy(folder) for folder in folders]
        for number, each in enumerate(SOME):
            opened[number % 2].add(each)
            opened[number % 2].seal()
        total = self.size(tmp_path)
        keep_within(tmp_path, total)
        assert self.size(tmp_path) == total
        keep_within(tmp_path, total // 2)
        assert total // 3 <= self.size(tmp_path) <= total // 2
        for each in opened:
            each.refresh()
        found = [any(has(one, each) for one in opened) for each in SOME]
        assert found == sorted(found), "a younger one was dropped before an older one"
        assert True in found

    def test_a_budget_of_nothing_keeps_nothing_but_living_logs(self, tmp_path: Path) -> None:
        folder = self.place(tmp_path, "c")
        opened = shelf(folder)
        opened.add(SOME[0])
        opened.seal()
        opened.add(SOME[1])
        keep_within(tmp_path, 0)
        opened.refresh()
        assert kinds(folder) == {".seg": 0, ".log": 1}
        assert not has(opened, SOME[0])
        assert has(opened, SOME[1])

    def test_an_archive_that_is_not_there(self, tmp_path: Path) -> None:
        keep_within(tmp_path / "nowhere", 0)


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    folder = tmp_path / "above" / "here"
    opened = shelf(folder)
    opened.add(SOME[0])
    opened.seal()
    opened.add(SOME[1])
    for path in [folder.parent, *folder.parent.rglob("*")]:
        assert os.stat(path).st_mode & 0o077 == 0, path  # noqa: PTH116


@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "seal", "refresh", "tidy", "die", "leave"]), st.integers(0, 2)),
        max_size=25,
    )
)
@thorough(40)
def test_nothing_is_lost_whatever_processes_do(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("shelf")
    shelves = [small(folder) for _ in range(3)]
    added: list[Generation] = []
    for deed, who in deeds:
        opened = shelves[who]
        if deed == "add" and len(added) < len(MANY):
            added.append(MANY[len(added)])
            opened.add(added[-1])
            assert has(opened, added[-1])
        elif deed == "seal":
            opened.seal()
        elif deed == "refresh":
            opened.refresh()
        elif deed == "tidy":
            opened.tidy()
        elif deed == "die":
            opened._close_log()
            shelves[who] = small(folder)
        elif deed == "leave":
            opened.close()
            shelves[who] = small(folder)
    for opened in shelves:
        opened.refresh()
        assert all(has(opened, each) for each in added)
