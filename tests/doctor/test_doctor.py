"""What the doctor finds, chooses and says, with trials whose results are given."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reame_core.cli.app import reame
from reame_core.config import load_settings
from reame_core.doctor import examination
from reame_core.doctor.examination import Host, Patient, examine_host, examine_model
from reame_core.doctor.report import as_data, host_facts, model_facts, trial_rows
from reame_core.doctor.variants import variants
from reame_core.host.machine import Machine, free_space, read_speed, this_machine
from reame_core.host.state import HostState, state_folder
from reame_core.llama.trials import Outcome, Setup, Speed
from reame_core.models.catalogue import ResolvedModel, resolve

MACHINE = Machine(
    system="Linux 6.1",
    cpu="A Processor",
    features=frozenset({"avx2", "hypervisor"}),
    logical=4,
    threads=2,
    threads_why="2 physical cores, one thread each",
    quota=None,
    numa_nodes=1,
    memory=8_000_000_000,
    memory_free=6_000_000_000,
    memory_left=None,
    virtual=True,
    stolen=0.0,
)
CRASH = "llama.cpp crashed (SIGSEGV)"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REAME_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def model() -> ResolvedModel:
    return resolve("smollm2-135m")


def host(machine: Machine = MACHINE, **changes: Any) -> Host:
    facts: dict[str, Any] = {
        "machine": machine,
        "build": "llama-cpp-python 0.3.36 1 2",
        "build_features": "CPU : AVX2 = 1 | FMA = 1 | SVE = 0 |",
        "neighbours": 0.0,
        "folders": {"models": (Path("models"), 5_000_000_000)},
    }
    return Host(**(facts | changes))


def examined(
    model: ResolvedModel, machine: Machine = MACHINE, *, thorough: bool = True, **speeds: Any
) -> Patient:
    """The extra buffers crash; everything else is as fast as ``speeds`` says by name of a field of Setup."""

    def trial(path: Path, setup: Setup) -> Outcome:
        assert path == model.path
        if setup.buffers.extra:
            return Outcome(setup, None, CRASH)
        different = speeds.get(f"threads{setup.threads}") or (setup.spin and speeds.get("spin"))
        return Outcome(setup, different or Speed(20.0, 2.0, 10))

    settings = load_settings([], environment={"REAME_MODEL__THREADS": "2"})
    return examine_model(settings, model, machine, thorough=thorough, progress=lambda line: None, trial=trial)


def test_a_crash_is_a_finding_and_the_rest_goes_on(model: ResolvedModel) -> None:
    patient = examined(model)
    assert patient.chosen.setup.buffers.label == "off"
    rows = [row for row in trial_rows(patient) if row[3] == CRASH]
    assert rows == [("weights on, 2 threads", "", "", CRASH)]
    assert any("crashes on this processor" in remark for remark in patient.remarks)
    facts = dict(model_facts(patient))
    assert facts["answers"].startswith("50.0 tokens a second")
    assert facts["prompts"].startswith("500 tokens a second")


def test_where_llama_cpp_crashes_with_amx_it_is_said_how_to_mend_it(model: ResolvedModel) -> None:
    with_amx = replace(MACHINE, features=MACHINE.features | {"amx_int8"})
    assert any("-fno-tree-dse" in remark for remark in examined(model, with_amx).remarks)
    without = replace(MACHINE, features=MACHINE.features - {"amx_int8"})
    assert not any("-fno-tree-dse" in remark for remark in examined(model, without).remarks)


def test_the_choice_is_remembered_for_later_starts(model: ResolvedModel) -> None:
    examined(model)
    stored = json.loads((Path(str(state_folder(None))) / "host.json").read_text())
    assert any(key.startswith("tuning | ") for key in json.dumps(stored).split('"'))
    assert HostState.of_this_user() is not None


def test_what_would_be_clearly_faster_is_said_with_what_to_do(model: ResolvedModel) -> None:
    patient = examined(model, threads4=Speed(10.0, 1.0, 5), spin=Speed(19.9, 2.0, 10))
    assert "4 threads: 2.00 times as fast here; set model.threads = 4" in patient.remarks
    assert not any("GOMP" in remark for remark in patient.remarks)


def test_quick_tries_only_what_is_chosen_from(model: ResolvedModel) -> None:
    patient = examined(model, thorough=False)
    assert patient.others == []
    assert len(list(trial_rows(patient))) == len(patient.tuning.outcomes)


def test_each_variant_differs_in_one_thing_and_is_not_what_was_chosen() -> None:
    chosen = Setup(threads=4)
    found = variants(chosen, 8)
    assert len({variant.label for variant in found}) == len(found)
    for variant in found:
        changed = [f for f in Setup.__slots__ if getattr(variant.setup, f) != getattr(chosen, f)]
        assert len(changed) == 1, variant.label
    assert [v.setup.threads for v in found if v.setup.threads != 4] == [2, 3, 8]
    assert all(v.setup.threads > 0 for v in variants(Setup(threads=1), 1))


def test_more_than_there_is_room_for_is_said(model: ResolvedModel) -> None:
    patient = examined(model, replace(MACHINE, memory_left=100_000_000), thorough=False)
    assert any("100 MB are free" in remark and "context_length" in remark for remark in patient.remarks)
    assert not any("are free" in remark for remark in examined(model, thorough=False).remarks)


@pytest.mark.parametrize(
    ("changed", "remark"),
    [
        ({"neighbours": 1.2}, "other processes keep 1.2 processors busy"),
        ({"machine": replace(MACHINE, stolen=0.2)}, "gave 20 % of this machine's time to others"),
        ({"machine": replace(MACHINE, quota=1.5)}, "pays for 1.5 of 4 processors"),
        ({"machine": replace(MACHINE, numa_nodes=2)}, "2 NUMA nodes"),
        ({"build_features": "CPU : SSE3 = 1 |"}, "built without AVX2"),
    ],
)
def test_what_deserves_attention(changed: dict[str, Any], remark: str) -> None:
    assert host().remarks == []
    assert [r for r in host(**changed).remarks if remark in r]


def test_the_host_in_plain_words() -> None:
    facts = dict(host_facts(host()))
    assert facts["llama.cpp"] == "llama-cpp-python 0.3.36: AVX2, FMA"
    assert facts["memory"] == "8.0 GB, 6.0 GB free"
    assert facts["system"] == "Linux 6.1, a virtual machine"


def test_data_for_programs_says_the_same(model: ResolvedModel) -> None:
    patient = examined(model)
    data = json.loads(json.dumps(as_data(host(), patient)))
    assert data["model"]["chosen"]["tokens_per_second"] == 50.0
    assert [tried["failure"] for tried in data["model"]["tried"]][:2] == [None, CRASH]
    assert data["machine"]["features"] == ["avx2", "hypervisor"]


def test_the_quota_of_a_faked_control_group(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "proc/self/mountinfo").write_text("30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    (group / "cpu.max").write_text("150000 100000\n")
    assert this_machine(tmp_path).quota == 1.5


def test_disks(tmp_path: Path) -> None:
    assert free_space(tmp_path / "not" / "there") > 0
    small = tmp_path / "small"
    small.write_bytes(b"x")
    assert read_speed(small) is None
    large = tmp_path / "large"
    large.write_bytes(bytes(16 << 20))
    assert (read_speed(large) or 1.0) > 0


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "try_out", None)
    monkeypatch.setattr("reame_core.doctor.examination.busy_neighbours", lambda: 0.0)
    told = CliRunner().invoke(reame, ["doctor"])
    assert told.exit_code == 0
    assert told.stdout.startswith("This machine\n")
    data = json.loads(CliRunner().invoke(reame, ["doctor", "--json"]).stdout)
    assert data["machine"]["logical"] >= 1
    assert "model" not in data


def test_examining_a_host_looks_at_the_folders(tmp_path: Path) -> None:
    found = examine_host({"models": tmp_path / "models"}, neighbours=lambda: 0.5)
    assert found.folders["models"][1] > 0
    assert found.neighbours == 0.5
