"""What is typed is kept for its owner, and never in the way."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from reame_core.cli.chat.input_history import LARGEST, LONGEST, InputHistory

if TYPE_CHECKING:
    from pathlib import Path


def entries(path: Path) -> list[str]:
    """As a later chat finds them, oldest first."""
    return list(InputHistory(path, lambda: True).load_history_strings())[::-1]


def test_it_is_kept_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "chat_history"
    history = InputHistory(path, lambda: True)
    history.append_string("one")
    history.append_string("two\nlines é 👩‍🚀")
    assert entries(path) == ["one", "two\nlines é 👩‍🚀"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_others_lose_the_right_to_read_it(tmp_path: Path) -> None:
    path = tmp_path / "chat_history"
    path.write_text("\n# before\n+one\n")
    path.chmod(0o644)
    InputHistory(path, lambda: True).append_string("two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert entries(path) == ["one", "two"]


def test_what_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "chat_history"
    wanted = False
    history = InputHistory(path, lambda: wanted)
    history.append_string("secret")
    assert not path.exists()
    wanted = True
    history.append_string(" begins with a blank")
    history.append_string("x" * (LONGEST + 1))
    assert not path.exists()
    # The arrow keys of this chat know them all the same.
    assert len(history.get_strings()) == 3
    wanted = False
    history.append_string("one")
    assert list(history.load_history_strings()) == []


def test_the_newer_half_of_a_large_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "chat_history"
    path.write_text("".join(f"\n# then\n+entry {number}\n" for number in range(80_000)))
    assert path.stat().st_size > LARGEST
    kept = entries(path)
    assert kept[-1] == "entry 79999"
    assert 30_000 < len(kept) < 41_000
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("blocked", ["folder", "file"])
def test_a_place_that_cannot_be_used_is_told_once(
    blocked: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "state" / "chat_history"
    if blocked == "folder":
        (tmp_path / "state").write_text("a file")
    else:
        path.mkdir(parents=True)
    history = InputHistory(path, lambda: True)
    list(history.load_history_strings())
    history.append_string("one")
    history.append_string("two")
    assert history.get_strings()[-2:] == ["one", "two"]
    assert [record.message.endswith("what is typed is not kept") for record in caplog.records] == [True]


def test_without_a_home_there_is_none() -> None:
    history = InputHistory(None, lambda: True)
    history.append_string("one")
    assert list(history.load_history_strings()) == []
