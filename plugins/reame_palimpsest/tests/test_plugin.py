from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from reame_palimpsest.archive import Archive
from reame_palimpsest.archive_plugin import ArchivePlugin
from reame_palimpsest.folders import tokenizer_folders
from reame_palimpsest.limits import Limits
from reame_palimpsest.lookup_plugin import LookupPlugin
from reame_palimpsest.options import ArchiveOptions, LookupOptions
from reame_palimpsest.service import archive_folder, tokenizer_of
from reame_palimpsest.shelf import Shelf

from plugins.reame_palimpsest.tests.support import TOKENIZER, plugins, random_generations
from reame_core.config.plugin_options import read_options
from reame_core.errors import ConfigError, InvalidRequest
from reame_core.plugins.api import ApiRequest, FieldService, PluginContext
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection
from reame_core.testing import FakeBackend
from tests.engine.support import engine_on, greedy, play

INFO = FakeBackend().info
SOME = random_generations(10)


def test_both_plugins_are_found_and_sound() -> None:
    manager = PluginManager(PluginSelection(only=("reame-palimpsest",)))
    reports = {each.name: each for each in manager.report() if each.state == "active"}
    assert set(reports) == {"palimpsest", "prompt-lookup"}
    assert {"propose_draft", "persist", "startup", "shutdown"} <= set(reports["palimpsest"].hooks)
    assert set(reports["prompt-lookup"].hooks) == {"startup", "propose_draft", "persist"}
    assert {each.why for each in reports.values()} == {""}


def test_commands_that_use_no_plugin_stay_quick() -> None:
    code = (
        "import sys\n"
        "import reame_palimpsest.archive_plugin, reame_palimpsest.lookup_plugin, reame_palimpsest.commands\n"
        "print([name for name in ('numpy', 'msgspec', 'litestar') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_startup_nothing_happens() -> None:
    sequence = SimpleNamespace()
    for plugin in (ArchivePlugin(), LookupPlugin()):
        assert plugin.propose_draft(sequence, 4) is None
        plugin.persist(sequence, None, SimpleNamespace(value="end"))
    ArchivePlugin().shutdown()
    assert ArchivePlugin().metrics() is None


class TestOptions:
    @pytest.mark.parametrize(
        ("kind", "table", "problem"),
        [
            (ArchiveOptions, {"min_match": 3}, "plugins.x.min_match must be a whole number >= 4, not 3"),
            (ArchiveOptions, {"min_match": "lots"}, "plugins.x.min_match must be a whole number, not 'lots'"),
            (ArchiveOptions, {"max_size_mb": -1}, "plugins.x.max_size_mb must be a number >= 0"),
            (
                ArchiveOptions,
                {"max_size_mb": float("inf")},
                "plugins.x.max_size_mb must be a number <= 1000000000",
            ),
            (ArchiveOptions, {"ttl_days": 0}, "plugins.x.ttl_days must be a number > 0"),
            (ArchiveOptions, {"folder": ""}, "plugins.x.folder must be"),
            (ArchiveOptions, {"archive": "perhaps"}, "plugins.x.archive must be true or false, not 'perhaps'"),
            (
                ArchiveOptions,
                {"max_size": 5},
                "plugins.x has no setting 'max_size'; did you mean 'max_size_mb'?",
            ),
            (LookupOptions, {"min_match": 1}, "plugins.x.min_match must be a whole number >= 2, not 1"),
        ],
    )
    def test_wrong_ones_are_one_line(
        self, kind: type[ArchiveOptions], table: dict[str, object], problem: str
    ) -> None:
        with pytest.raises(ConfigError) as caught:
            read_options("x", table, kind)
        message = str(caught.value)
        assert message.startswith(problem)
        assert "\n" not in message

    def test_not_a_number(self) -> None:
        with pytest.raises(ConfigError):
            read_options("x", {"max_size_mb": float("nan")}, ArchiveOptions)

    def test_texts_of_the_environment(self) -> None:
        options = read_options("x", {"archive": False, "ttl_days": 7, "max_size_mb": "20"}, ArchiveOptions)
        assert (options.archive, options.ttl_days, options.max_size_mb) == (False, 7.0, 20.0)

    def test_a_plugin_with_wrong_options_does_not_start(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError):
            ArchivePlugin().startup(PluginContext(INFO, {"folder": str(tmp_path), "typo": 1}))
        with pytest.raises(ConfigError):
            LookupPlugin().startup(PluginContext(INFO, {"typo": 1}))

    def test_where_the_archive_lies(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("REAME_HOME", str(tmp_path))
        assert archive_folder(ArchiveOptions()) == tmp_path / "state" / "palimpsest"
        monkeypatch.setenv("HOME", "/somewhere")
        assert archive_folder(ArchiveOptions(folder="~/x")) == Path("/somewhere/x")


def test_models_with_one_tokenizer_share_their_archive() -> None:
    def name(tokenizer: str, **namespace: str) -> str:
        return tokenizer_of(PluginContext(INFO, {}, namespace, tokenizer))

    assert name("a", model="x") == name("a", model="y")
    assert len({name("a"), name("b"), name("", model="x"), name("", model="y"), name("")}) == 5


class TestFields:
    def served(self, value: object) -> FieldService | None:
        return ArchivePlugin().serve_fields(ApiRequest("chat", {"reame.palimpsest": value}, 1, False))

    @pytest.mark.parametrize(
        ("value", "extra"),
        [
            (False, {"archive": False, "draft": False}),
            (True, {"archive": True, "draft": True}),
            ({"archive": False}, {"archive": False}),
            ({}, {}),
        ],
    )
    def test_wishes_reach_the_engine(self, value: object, extra: dict[str, bool]) -> None:
        service = self.served(value)
        assert service is not None
        assert service.fields == {"reame.palimpsest"}
        assert service.extra == extra

    @pytest.mark.parametrize("value", [1, "no", [], {"archive": 0}, {"arxiv": True}, {"draft": None}])
    def test_wrong_ones_are_refused(self, value: object) -> None:
        with pytest.raises(InvalidRequest) as caught:
            self.served(value)
        assert str(caught.value.param).startswith("reame.palimpsest")

    def test_other_fields_are_left_to_others(self) -> None:
        assert ArchivePlugin().serve_fields(ApiRequest("chat", {"tools": []}, 1, False)) is None


def test_metrics(tmp_path: Path) -> None:
    with plugins(tmp_path) as started:
        for _ in range(3):
            play(engine_on(FakeBackend(), started.hooks), greedy("hello", 20, ignore_end=True))
            started.flush()
        metrics = {each.name: each for each in started.archive.metrics() or ()}
    assert {s.labels["outcome"]: s.value for s in metrics["answers"].samples} == {
        "stored": 1,
        "repeated": 2,
        "dropped": 0,
    }
    assert metrics["generations"].samples[0].value == 1
    assert metrics["tokens"].samples[0].value > 20


class TestArchive:
    def archive(self, root: Path) -> Archive:
        return Archive(root, TOKENIZER, "a-model", Limits.of(64, None), lambda: 5000.0)

    def test_too_much_at_once_is_dropped_and_counted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        busy, free = threading.Event(), threading.Event()
        add = Shelf.add

        def slow(shelf: Shelf, generation: object) -> bool:
            busy.set()
            assert free.wait(30)
            return add(shelf, generation)

        monkeypatch.setattr(Shelf, "add", slow)
        archive = self.archive(tmp_path)
        archive.start()
        archive.store("", SOME[0])
        assert busy.wait(30)
        for _ in range(600):
            archive.store("", SOME[1])
        assert archive.counts.dropped == 600 - 256
        free.set()
        archive.close()
        assert (archive.counts.stored, archive.counts.repeated) == (2, 255)

    def test_a_failure_of_the_writer_costs_one_answer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        add = Shelf.add

        def failing(shelf: Shelf, generation: object) -> bool:
            if generation is SOME[0]:
                raise RuntimeError("a bug")
            return add(shelf, generation)

        monkeypatch.setattr(Shelf, "add", failing)
        archive = self.archive(tmp_path)
        archive.start()
        for each in SOME:
            archive.store("", each)
        archive.close()
        assert archive.counts.stored == 9
        assert [each.levelno for each in caplog.records] == [logging.ERROR]

    def test_many_tenants(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("reame_palimpsest.archive._PATIENCE_AT_END", 300)
        archive = self.archive(tmp_path)
        archive.start()
        for number in range(80):
            archive.store(f"tenant {number}", SOME[number % 10])
        assert archive.flush(300)
        view = archive.view("tenant 79")
        assert view is not None
        assert view.answer(SOME[9].prompt_key, 1, SOME[9].answer[:0]) is not None
        assert archive.view("tenant 0") is None, "it was closed for others"
        assert archive.flush()
        assert archive.view("tenant 0") is not None, "and opened again"
        archive.close()
        [folder] = tokenizer_folders(tmp_path)
        assert len(folder.tenants()) == 80
        assert not list(tmp_path.rglob("*.log"))

    def test_the_budget_is_kept(self, tmp_path: Path) -> None:
        archive = Archive(tmp_path, TOKENIZER, "a-model", Limits.of(0.02, None), lambda: 5000.0)
        archive.start()
        for each in random_generations(150):
            archive.store("", each)
        archive.close()
        size = sum(path.stat().st_size for path in tmp_path.rglob("*.seg"))
        assert 5_000 < size <= 20_000
