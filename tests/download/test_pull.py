"""Pulling as a whole: one process at a time, names, receipts."""

from __future__ import annotations

import threading

import pytest

from reame_core.errors import ModelError
from reame_core.models.download.progress import Silent
from reame_core.models.download.pull import Pulled, pull
from reame_core.models.download.web import Web
from reame_core.models.folder import ModelsFolder
from reame_core.models.sources.web import WebSource
from tests.download.file_server import FileServer, hold


class Listening(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.said = threading.Event()

    def say(self, line: str) -> None:
        self.lines.append(line)
        self.said.set()


# case 120: two pulls of one model at the same time
def test_case_120_two_pulls_of_one_model_fetch_it_once(
    server: FileServer, folder: ModelsFolder, web: Web, model: bytes
) -> None:
    server.files["/m.gguf"] = model
    half, go_on = threading.Event(), threading.Event()
    server.misdeeds[:] = [hold(300_000, half, go_on)]
    second = Listening()
    pulled: list[Pulled] = []

    def run(progress: Silent) -> None:
        pulled.append(pull("m", WebSource(f"{server.url}/m.gguf"), folder, web=web, progress=progress))

    threads = [threading.Thread(target=run, args=(Silent(),))]
    threads[0].start()
    assert half.wait(30)
    threads.append(threading.Thread(target=run, args=(second,)))
    threads[1].start()
    assert second.said.wait(30)
    assert pulled == []
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert sorted(each.fetched for each in pulled) == [False, True]
    assert {each.path.read_bytes() for each in pulled} == {model}
    assert second.lines == ["another process is fetching m, waiting for it"]
    assert len(server.requests) == 1


def test_a_name_that_another_source_has_given(
    server: FileServer, folder: ModelsFolder, web: Web, model: bytes
) -> None:
    server.files["/a/m.gguf"] = server.files["/b/m.gguf"] = model

    def fetch(place: str, name: str = "m") -> Pulled:
        source = WebSource(f"{server.url}/{place}/m.gguf")
        return pull(name, source, folder, web=web, shared_name=True)

    assert fetch("a").fetched
    assert not fetch("a").fetched
    with pytest.raises(
        ModelError, match=r"there is another model m, from http://.*/a/m.gguf: choose a name with"
    ):
        fetch("b")
    assert fetch("b", "n").fetched
    (folder.path / "mine.gguf").write_bytes(model)
    with pytest.raises(ModelError, match=r"another model mine, put into the models folder by somebody"):
        fetch("b", "mine")


def test_an_address_of_something_else(folder: ModelsFolder, web: Web) -> None:
    with pytest.raises(ModelError, match=r"https://x.example.org/a.zip is not the address of a GGUF file"):
        pull("m", WebSource("https://x.example.org/a.zip"), folder, web=web)


def test_removing_takes_all_that_belongs_to_a_model(
    server: FileServer, folder: ModelsFolder, web: Web, model: bytes
) -> None:
    server.files["/m.gguf"] = model
    for name in ("m", "m2"):
        pull(name, WebSource(f"{server.url}/m.gguf"), folder, web=web)
    folder.part("m.gguf").write_bytes(b"rest")
    freed = folder.remove("m")
    assert freed > len(model)
    assert set(folder.models()) == {"m2"}
    assert folder.receipt("m") is None
    assert folder.receipt("m2") is not None
    assert folder.remove("m") == 0
