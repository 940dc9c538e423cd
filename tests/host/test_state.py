from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from reame_core.host.state import HostState, state_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "reame" / "state"


def test_what_was_put_is_there_for_the_next_process(folder: Path) -> None:
    HostState(folder).put("batch cost", {"1": 20.5, "64": 340})
    assert HostState(folder).get("batch cost") == {"1": 20.5, "64": 340}
    assert HostState(folder).get("other") is None


def test_is_the_owners_alone(folder: Path) -> None:
    HostState(folder).put("a", 1)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_two_stores_add_to_each_other_and_the_last_wins(folder: Path) -> None:
    one, two = HostState(folder), HostState(folder)
    one.put("a", 1)
    two.put("b", 2)
    two.put("a", 3)
    assert (one.get("a"), one.get("b")) == (3, 2)


def test_without_a_folder_it_lasts_as_long_as_the_object() -> None:
    state = HostState(None)
    state.put("a", 1)
    assert state.get("a") == 1
    assert HostState(None).get("a") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b"{}" + b" " * (5 << 20)])
def test_a_damaged_file_is_empty_with_one_warning(folder: Path, content: bytes, caplog) -> None:
    folder.mkdir(parents=True)
    (folder / "host.json").write_bytes(content)
    state = HostState(folder)
    with caplog.at_level(logging.WARNING):
        assert state.get("a") is None
        assert state.get("b") is None
        state.put("a", 1)
    assert len(caplog.records) == 1
    assert "damaged" in caplog.text
    assert HostState(folder).get("a") == 1


@pytest.mark.parametrize("obstacle", ["file in the way", "folder in the file's place", "no such device"])
def test_a_place_that_cannot_be_written_still_works(folder: Path, obstacle: str, caplog) -> None:
    if obstacle == "file in the way":
        folder.parent.write_text("")
    elif obstacle == "folder in the file's place":
        (folder / "host.json").mkdir(parents=True)
    else:
        folder = Path("/proc/none/state")
    state = HostState(folder)
    with caplog.at_level(logging.WARNING):
        state.put("a", 1)
        state.put("b", 2)
    assert (state.get("a"), state.get("b")) == (1, 2)
    assert len(caplog.records) == 1


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    HostState(folder).put("a", 1)

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    HostState(folder).put("a", 2)
    assert json.loads((folder / "host.json").read_text()) == {"a": 1}
    assert sorted(path.name for path in folder.iterdir()) == ["host.json", "host.lock"]


def test_values_that_are_no_json_change_nothing(folder: Path) -> None:
    state = HostState(folder)
    state.put("a", 1)
    with pytest.raises(TypeError):
        state.put("a", object())
    assert HostState(folder).get("a") == 1


PUT_MANY = """
import sys
from pathlib import Path
from reame_core.host import state
from reame_core.host.state import HostState
state._PATIENCE = 60.0
for i in range(20):
    HostState(Path(sys.argv[1])).put(f"{sys.argv[2]}{i}", i)
"""


def put_many(folder: Path, name: str) -> None:
    for i in range(20):
        HostState(folder).put(f"{name}{i}", i)


def test_threads_and_processes_lose_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Who has waited for long writes without the lock.
    monkeypatch.setattr("reame_core.host.state._PATIENCE", 60.0)
    processes = [subprocess.Popen([sys.executable, "-c", PUT_MANY, folder, f"process{n}-"]) for n in range(2)]
    threads = [threading.Thread(target=put_many, args=(folder, f"thread{n}-")) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait() for process in processes] == [0, 0]
    assert len(json.loads((folder / "host.json").read_text())) == 80


class TestFolder:
    def test_below_the_home_of_reame(self) -> None:
        assert state_folder({"REAME_HOME": "/tmp/ü dir/with space"}) == Path("/tmp/ü dir/with space/state")

    def test_where_the_system_keeps_state(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", "/somewhere/state")
        assert state_folder({}) == Path("/somewhere/state/reame")

    def test_a_user_without_a_home_has_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def homeless(name: str, appauthor: bool) -> None:
            raise RuntimeError("could not determine the home directory")

        monkeypatch.setattr("platformdirs.PlatformDirs", homeless)
        assert state_folder({}) is None
        state = HostState.of_this_user({})
        state.put("a", 1)
        assert state.get("a") == 1
