"""All workloads on a server that answers at once."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from reame_bench.harness import Plan, measure
from reame_bench.options import BenchOptions
from reame_bench.plots import draw
from reame_bench.results import Results
from reame_bench.servers.choice import choose
from reame_bench.servers.remote import Remote
from reame_bench.servers.server import Job
from reame_bench.sizes import SMOKE
from reame_bench.workloads.catalogue import BY_NAME, WORKLOADS
from reame_bench.workloads.workload import Stage

from plugins.reame_bench.tests.stub import stub
from reame_core.errors import UsageError

JOB = Job(Path("/models/a.gguf"), "a", 1)
RESTARTED = {"prefix", "together"}


def plan(url: str, *names: str, **fields: object) -> Plan:
    workloads = [BY_NAME[name] for name in names] or WORKLOADS
    made = Plan(workloads, [Remote("stub", url)], [JOB], SMOKE, "reame bench")
    return replace(made, **fields)  # type: ignore[arg-type]


def test_every_workload_gives_the_figures_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reame_bench.workloads.users._LEAD_S", 0.0)
    results = Results(tmp_path / "r.json", {"cpu": "x"})
    with stub() as server:
        assert measure(plan(server.url), results, lambda line: None) == 0
    for_all = [workload.name for workload in WORKLOADS if not workload.optional]
    assert [unit.workload for unit in results.run.units] == for_all
    for unit in results.run.units:
        keys = {metric.key for metric in BY_NAME[unit.workload].metrics}
        if unit.workload in RESTARTED:
            assert "cannot be started again" in unit.problem
        else:
            assert unit.figures
            assert set(unit.figures) <= keys
    pictures = draw(results.run, "smoke", tmp_path / "plots")
    assert len(pictures) == len(for_all) - len(RESTARTED)
    assert all(path.stat().st_size > 5000 for path in pictures)


def test_what_is_there_is_not_measured_again_and_failures_are(tmp_path: Path) -> None:
    results = Results(tmp_path / "r.json", {})
    lines: list[str] = []
    assert measure(plan("http://127.0.0.1:9", "rewrite"), results, lines.append) == 1
    assert "nothing answers at" in lines[-1]
    with stub() as server:
        assert measure(plan(server.url, "rewrite"), results, lines.append) == 0
        asked = len(server.asked)
        assert measure(plan(server.url, "rewrite"), results, lines.append) == 0
        assert len(server.asked) == asked > 0


def test_what_a_server_does_not_offer_is_a_result(tmp_path: Path) -> None:
    results = Results(None, {})
    with stub(refuse="response_format") as server:
        measure(plan(server.url, "invoices"), results, lambda line: None)
    [unit] = results.run.units
    assert unit.problem.startswith("not offered: status 400")
    assert not unit.figures


def test_after_the_deadline_nothing_begins() -> None:
    results = Results(None, {})
    lines: list[str] = []
    assert measure(plan("http://127.0.0.1:9", deadline=time.monotonic() - 1), results, lines.append) == 0
    assert lines == ["the time is over; the same command goes on from here"]


def test_a_long_curve_is_cut_short_where_the_time_is_over(tmp_path: Path) -> None:
    with stub() as server:
        size = replace(SMOKE, requests=50)
        with Stage(Remote("stub", server.url), JOB, tmp_path, size, print, deadline=0.0) as stage:
            outcome = BY_NAME["triage"].run(stage)
    assert len(outcome.curves["seconds"]) == len(outcome.curves["again seconds"]) == 1
    assert outcome.notes[-1] == "the limit of time came after 1 requests and 1 of the second pass"


def test_contestants_take_turns() -> None:
    contestants = [Remote(name, "http://x") for name in "abc"]
    made = Plan([BY_NAME["rewrite"]], contestants, [JOB], replace(SMOKE, rounds=3), "")
    order = [contestant.name for _, contestant, _, _ in made.units()]
    assert order == list("abcbcacab")


class TestServers:
    def test_by_default_ours_and_what_is_installed(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("shutil.which", lambda program: str(tmp_path / program))
        names = [each.name for each in choose([])]
        assert names[:4] == ["reame", "reame without plugins", "llama-server", "llama-server-ngram"]
        assert "ollama" in names
        monkeypatch.setattr("shutil.which", lambda program: None)
        assert "llama-server" not in [each.name for each in choose([])]
        assert "llama-server" in [each.name for each in choose([], tmp_path / "llama-server")]

    def test_by_name(self) -> None:
        chosen = choose(["reame", "reame:diskkv,palimpsest", "reame:", "mine=http://127.0.0.1:9#12"])
        assert [each.name for each in chosen] == [
            "reame", "reame with diskkv, palimpsest", "reame without plugins", "mine", "reame, memo",
        ]  # fmt: skip

    def test_a_draft_model_makes_contestants_of_its_own(self, tmp_path: Path) -> None:
        chosen = choose(["reame", "llama-server"], tmp_path / "llama-server", tmp_path / "small.gguf")
        drafting = [each for each in chosen if "draft-model" in (each.only or ())]
        assert [each.name for each in drafting] == ["reame, draft model", "llama-server, draft model"]
        assert [workload.name for workload in WORKLOADS if workload.takes(drafting[0])] == ["draft-model"]

    @pytest.mark.parametrize("wrong", ["reme", "x=ftp://y", "x=http://y#z", "llama-server", "ollama"])
    def test_wrong_names(self, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shutil.which", lambda program: None)
        with pytest.raises(UsageError, match="--server"):
            choose([wrong])

    def test_none_takes_part_twice(self) -> None:
        with pytest.raises(UsageError, match="once"):
            choose(["reame", "reame"])


def test_sizes_by_the_command_line() -> None:
    assert BenchOptions().measured_size.name == "quick"
    assert BenchOptions(size="full", requests=300, rounds=1).measured_size == replace(
        BenchOptions(size="full").measured_size, requests=300, rounds=1, name="full, 300 requests"
    )
