"""Disks that are full, parts that disappear, folders that cannot be written, models that are replaced."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest

from reame_core.errors import ModelError
from reame_core.models.download import pull as pull_module
from reame_core.models.download.part import Part
from reame_core.models.download.pull import pull
from reame_core.models.folder import ModelsFolder
from reame_core.models.sources.web import WebSource
from tests.download.conftest import a_model
from tests.download.file_server import (
    cut,
    refuse,
)
from tests.download.puller import Puller


# case 119
def test_case_119_a_full_disk_is_noticed_before(puller: Puller) -> None:
    source = WebSource(puller.server.url + "/m.gguf")
    with pytest.raises(ModelError, match=r"m needs 700 KB more on the disk of .*, where 64 MB is free"):
        pull("m", source, puller.folder, web=puller.web, free=lambda _: 64_000_000)
    assert puller.part is None
    pull("m", source, puller.folder, web=puller.web, free=lambda _: 65_000_000)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_case_119_a_disk_that_fills_during_a_download(
    puller: Puller, model: bytes, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Part.append

    def full(part: Part, data: bytes) -> None:
        if part.size >= 200_000:
            raise OSError(number, "no more")
        append(part, data)

    monkeypatch.setattr(Part, "append", full)
    assert "is full: make room and pull again, which goes on where it ended" in puller.refused()
    monkeypatch.undo()
    assert puller.part is not None
    assert 0 < len(puller.part) < len(model)
    assert puller().path.read_bytes() == model
    assert puller.server.requests[-1].range is not None


def test_case_119_giving_up_frees_the_disk(puller: Puller) -> None:
    puller.server.misdeeds[:] = [cut(400_000), refuse(404)]
    puller.refused()
    assert puller.folder.remove("m") > 400_000
    assert [path.suffix for path in (puller.folder.path / ".reame").iterdir()] in ([], [".lock"])


# case 120
def test_case_120_a_part_that_disappears(puller: Puller, monkeypatch: pytest.MonkeyPatch) -> None:
    append = Part.append

    def append_and_lose(part: Part, data: bytes) -> None:
        append(part, data)
        part.path.unlink(missing_ok=True)

    monkeypatch.setattr(Part, "append", append_and_lose)
    assert "somebody removed the file while it came: pull it again" in puller.refused()


def test_case_120_parts_lie_on_the_file_system_of_the_models(folder: ModelsFolder) -> None:
    folder.prepare()
    assert folder.part("m.gguf").parent.parent == folder.path


# case 127
@pytest.mark.parametrize("place", ["/proc/none", "a file", "a file/below"])
def test_case_127_a_folder_that_cannot_be_written(puller: Puller, tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").write_text("")
    puller.folder = ModelsFolder(tmp_path / place)
    said = puller.refused()
    assert f"no model can be put into {tmp_path / place} (" in said
    assert said.endswith("name a folder that this user can write to, by REAME_HOME or the setting model.folder")
    assert puller.server.requests == []


def test_case_127_a_folder_with_a_difficult_name(puller: Puller, tmp_path: Path, model: bytes) -> None:
    puller.folder = ModelsFolder(tmp_path / "ü dir/with space")
    assert puller().path.read_bytes() == model


def test_the_old_model_serves_until_the_new_one_is_complete(puller: Puller, model: bytes) -> None:
    path = puller().path
    newer = puller.server.files["/m.gguf"] = a_model(fill=9)
    assert not puller().fetched
    puller.server.misdeeds[:] = [cut(1000), refuse(404)]
    with pytest.raises(ModelError):
        puller(again=True)
    assert path.read_bytes() == model
    assert puller.folder.damage("m") is None
    assert puller(again=True).path.read_bytes() == newer


def test_a_damaged_model_is_fetched_again(puller: Puller, model: bytes) -> None:
    path = puller().path
    path.write_bytes(model[:-1000])
    assert puller.folder.damage("m") is not None
    assert puller().path.read_bytes() == model


def test_free_bytes_are_those_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_module.shutil, "disk_usage", lambda _: SimpleNamespace(total=9, used=5, free=4))
    assert pull_module.free_bytes(tmp_path) == 4
