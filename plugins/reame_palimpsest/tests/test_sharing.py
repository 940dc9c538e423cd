"""Answers that go from one server's archive to another's, at least once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reame_palimpsest.archive_plugin import ArchivePlugin
from reame_palimpsest.folders import tenant_folder_name
from reame_palimpsest.frames import encode
from reame_palimpsest.generations import Generation, content_id
from reame_palimpsest.sharing import SharedArchive, SharedGeneration

from plugins.reame_palimpsest.tests.support import Plugins, accepted, random_generations
from reame_core.plugins.api import PluginContext
from reame_core.testing import FakeBackend
from tests.engine.support import engine_on, greedy, plain, play, words

PATIENCE = 20.0
HERE = tenant_folder_name("")


class Sharing(Plugins):
    """The plugin, and what it offers."""

    def __init__(self, folder: Path, **options: object) -> None:
        super().__init__(folder, **options)
        service = self.archive._service
        assert service is not None
        self.service = service
        size = FakeBackend().info.vocabulary_size
        self.offered = SharedArchive(service.archive, service.pursuits, "0" * 32, size)
        self.told: list[SharedGeneration] = []
        self.offered.follow(self.told.append)

    @property
    def generations(self) -> int:
        self.flush()
        return self.service.archive.sizes().generations


@contextmanager
def sharing(folder: Path, **options: object) -> Iterator[Sharing]:
    made = Sharing(folder, **options)
    try:
        yield made
    finally:
        made.close()


def wrapped(generation: Generation, tenant: str = HERE) -> SharedGeneration:
    return SharedGeneration(tenant, content_id(generation).hex(), encode(generation))


def test_what_one_server_said_another_proposes(tmp_path: Path) -> None:
    request = greedy(words(40), 30)
    with sharing(tmp_path / "a") as first, sharing(tmp_path / "b") as second:
        assert play(engine_on(hooks=first.hooks), request)[0].said == plain(request)
        first.flush()
        assert len(first.told) == 1
        assert second.offered.add(first.told, PATIENCE) == 1
        [answers] = play(engine_on(hooks=second.hooks), request)
        assert answers.said == plain(request)
        assert accepted(answers[0]) > 20


def test_at_least_once_is_once(tmp_path: Path) -> None:
    some = [wrapped(each) for each in random_generations(10, words=200)]
    with sharing(tmp_path / "b") as second:
        assert second.offered.add(some, PATIENCE) == 10
        assert second.offered.add(some, PATIENCE) == 0
        assert second.offered.add(some[:3] + some[:3], PATIENCE) == 0
        assert second.generations == 10
    with sharing(tmp_path / "b") as restarted:
        assert restarted.offered.add(some, PATIENCE) == 0
        assert restarted.generations == 10


def test_what_came_from_elsewhere_is_told_to_nobody(tmp_path: Path) -> None:
    with sharing(tmp_path / "b") as second:
        second.offered.add([wrapped(each) for each in random_generations(3, words=200)], PATIENCE)
        second.flush()
        assert second.told == []


def test_an_answer_of_one_s_own_that_comes_back_is_known(tmp_path: Path) -> None:
    with sharing(tmp_path / "a") as first:
        play(engine_on(hooks=first.hooks), greedy(words(40), 30))
        first.flush()
        assert first.offered.add(first.told, PATIENCE) == 0
        assert first.generations == 1


def test_tenants_stay_apart(tmp_path: Path) -> None:
    request = greedy(words(40), 30)
    with sharing(tmp_path / "a") as first, sharing(tmp_path / "b") as second:
        play(engine_on(hooks=first.hooks), replace(request, tenant="alice"))
        first.flush()
        assert [each.tenant for each in first.told] == [tenant_folder_name("alice")]
        second.offered.add(first.told, PATIENCE)
        for tenant, known in (("bob", False), ("", False), ("alice", True)):
            second.service.archive.view(tenant)
            second.flush()
            answers = play(engine_on(hooks=second.hooks), replace(request, tenant=tenant, max_tokens=29))[0]
            assert (accepted(answers[0]) > 0) is known


def test_an_answer_that_its_request_keeps_to_itself(tmp_path: Path) -> None:
    with sharing(tmp_path / "a") as first:
        first.offered.follow(first.told.append, lambda request: "private" not in request.extra)
        play(engine_on(hooks=first.hooks), greedy(words(40), 30, extra={"private": True}))
        assert first.generations == 1
        assert first.told == []
        first.offered.unfollow()
        play(engine_on(hooks=first.hooks), greedy(words(50), 30))
        assert first.generations == 2
        assert first.told == []


def damaged(shared: SharedGeneration) -> Iterator[SharedGeneration]:
    for at in range(0, len(shared.data), 7):
        data = bytearray(shared.data)
        data[at] ^= 4
        yield replace(shared, data=bytes(data))
    yield replace(shared, data=shared.data[:-1])
    yield replace(shared, data=shared.data + b"more")
    yield replace(shared, data=shared.data * 2)
    yield replace(shared, data=b"")
    yield replace(shared, content="0" * 32)
    yield replace(shared, tenant="../../../etc")
    yield replace(shared, tenant="")


def test_what_is_damaged_is_left_out(tmp_path: Path) -> None:
    good = wrapped(random_generations(1, words=200)[0])
    with sharing(tmp_path / "b") as second:
        assert second.offered.add([*damaged(good)], PATIENCE) == 0
        assert second.generations == 0
        assert second.offered.add([*damaged(good), good], PATIENCE) == 1


def test_tokens_that_the_model_does_not_have_are_left_out(tmp_path: Path) -> None:
    size = FakeBackend().info.vocabulary_size
    tokens = np.array([1, 2, size, 4, 5], np.int32)
    with sharing(tmp_path / "b") as second:
        assert second.offered.add([wrapped(Generation(tokens, 2, 7, 1))], PATIENCE) == 0


def test_a_clock_that_is_ahead_keeps_nothing_for_ever(tmp_path: Path) -> None:
    far_off = replace(random_generations(1, words=200)[0], time=1 << 40)
    with sharing(tmp_path / "b") as second:
        assert second.offered.add([wrapped(far_off)], PATIENCE) == 1
        second.flush()
        [tail] = second.service.archive.view("").tails  # type: ignore[union-attr]
        assert tail.newest < 1 << 33


def test_a_closed_archive_takes_nothing_and_holds_up_nobody(tmp_path: Path) -> None:
    with sharing(tmp_path / "b") as second:
        pass
    assert second.offered.closed
    assert second.offered.add([wrapped(random_generations(1, words=200)[0])], PATIENCE) is None


def test_a_failure_is_told_and_the_archive_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    some = [wrapped(each) for each in random_generations(2, words=200)]
    with sharing(tmp_path / "b") as second:
        archive = second.service.archive

        def fail(folder: str) -> None:
            raise RuntimeError("no room in the attic")

        with monkeypatch.context() as broken:
            broken.setattr(archive, "_open", fail)
            assert second.offered.add(some[:1], PATIENCE) is None
        assert second.offered.add(some[1:], PATIENCE) == 1
    assert "the archive of generations has failed; it goes on" in caplog.messages


@pytest.mark.parametrize("options", [{"archive": False}, {"max_size_mb": 0}])
def test_who_archives_nothing_offers_nothing(tmp_path: Path, options: dict[str, object]) -> None:
    offered: list[SharedArchive] = []
    for table in (options, {}):
        plugin = ArchivePlugin()
        context = PluginContext(FakeBackend().info, {"folder": str(tmp_path), **table}, {"model": "m"}, "fake")
        context.offers.take(SharedArchive, offered.append)
        plugin.startup(context)
        plugin.shutdown()
    assert len(offered) == 1
