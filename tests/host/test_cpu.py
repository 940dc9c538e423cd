from __future__ import annotations

import os

import pytest

from reame_core.errors import ConfigError
from reame_core.host.cpu import ThreadChoice, clamp_threads, cpu_name, usable_threads

ALL = frozenset(range(8))


def test_one_thread_for_each_physical_core(machine) -> None:
    assert usable_threads(machine(cores=4, threads=2), ALL) == ThreadChoice(
        4, "4 physical cores, one thread each"
    )
    assert usable_threads(machine(cores=8, threads=1), ALL).threads == 8


def test_a_single_core(machine) -> None:
    assert usable_threads(machine(cores=1, threads=2), {0, 1}) == ThreadChoice(
        1, "1 physical core, one thread each"
    )


@pytest.mark.parametrize(("affinity", "threads"), [({0, 4}, 1), ({0, 1}, 2), ({3}, 1), ({0, 1, 4, 5}, 2)])
def test_bound_to_some_processors(machine, affinity: set[int], threads: int) -> None:
    choice = usable_threads(machine(), affinity)
    assert choice.threads == threads
    assert "this process is bound to" in choice.why


@pytest.mark.parametrize(
    ("quota", "threads"),
    [
        ("200000 100000", 2),
        ("150000 100000", 1),
        ("50000 100000", 1),
        ("350000 100000", 3),
        ("9900000 100000", 4),
    ],
)
def test_quota_of_version_2(machine, version_2, quota: str, threads: int) -> None:
    root = machine(version_2("/app", **{"app/cpu.max": quota}))
    assert usable_threads(root, ALL).threads == threads


def test_the_reason_names_the_quota(machine, version_2) -> None:
    root = machine(version_2("/app", **{"app/cpu.max": "150000 100000"}))
    assert usable_threads(root, ALL).why == "the CPU quota is worth 1.5 of 4 physical cores"


@pytest.mark.parametrize("nothing", ["max 100000", "", "garbage", "100000", "100000 0", "-1 100000"])
def test_no_quota(machine, version_2, nothing: str) -> None:
    assert usable_threads(machine(version_2("/app", **{"app/cpu.max": nothing})), ALL).threads == 4


def test_the_smallest_quota_on_the_way_up_binds(machine, version_2) -> None:
    root = machine(
        version_2(
            "/pod/app/worker",
            **{
                "pod/app/worker/cpu.max": "max 100000",
                "pod/app/cpu.max": "300000 100000",
                "pod/cpu.max": "200000 100000",
            },
        )
    )
    assert usable_threads(root, ALL).threads == 2


def test_quota_of_version_1(machine, version_1) -> None:
    quota = {
        "cpu,cpuacct/docker/x/cpu.cfs_quota_us": "250000",
        "cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000",
    }
    assert usable_threads(machine(version_1("/docker/x", **quota)), ALL).threads == 2


def test_version_1_without_a_quota(machine, version_1) -> None:
    quota = {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}
    assert usable_threads(machine(version_1("/", **quota)), ALL).threads == 4


def test_inside_a_container_with_the_paths_of_its_host(machine) -> None:
    files = {
        "proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n",
        "proc/self/mountinfo": (
            "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
        ),
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    }
    assert usable_threads(machine(files), ALL).threads == 2


def test_a_path_outside_of_the_mount(machine, version_2) -> None:
    assert usable_threads(machine(version_2("/../x", **{"cpu.max": "200000 100000"})), ALL).threads == 2


def test_a_mount_point_with_a_blank(machine) -> None:
    files = {
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": r"30 23 0:26 / /my\040groups rw - cgroup2 cgroup2 rw" + "\n",
        "my groups/cpu.max": "200000 100000\n",
    }
    assert usable_threads(machine(files), ALL).threads == 2


def test_a_machine_that_tells_nothing(machine) -> None:
    root = machine(cores=0)
    assert usable_threads(root, {0, 1, 2}).threads == 3
    assert usable_threads(root, frozenset()).threads == 1


def test_without_proc_the_cores_are_counted_otherwise(tmp_path) -> None:
    assert 1 <= usable_threads(tmp_path, ALL).threads <= 8


def test_this_machine() -> None:
    assert 1 <= usable_threads().threads <= (os.cpu_count() or 1)


@pytest.mark.parametrize("automatic", [None, 0, -1])
def test_automatic(machine, automatic: int | None) -> None:
    assert clamp_threads(automatic, machine(), ALL) == ThreadChoice(4, "4 physical cores, one thread each")


@pytest.mark.parametrize("threads", [1, 4, 16])
def test_a_number_is_taken_as_it_is(machine, threads: int) -> None:
    assert clamp_threads(threads, machine(), ALL) == ThreadChoice(threads, "as configured")


def test_more_than_the_quota_is_the_users_choice(machine, version_2) -> None:
    root = machine(version_2("/", **{"cpu.max": "150000 100000"}))
    assert clamp_threads(3, root, ALL).why == "as configured, though the CPU quota pays only for 1.5"
    assert clamp_threads(1, root, ALL).why == "as configured"


@pytest.mark.parametrize("threads", [17, 1000, -2])
def test_absurd_numbers_are_refused(machine, threads: int) -> None:
    with pytest.raises(ConfigError, match=f"threads is {threads}: with 8 processors it can be 1 to 16"):
        clamp_threads(threads, machine(), ALL)


def test_names(machine) -> None:
    assert cpu_name(machine({"proc/cpuinfo": "processor : 0\nmodel name\t: Fast  CPU 9\n"})) == "Fast CPU 9"
    arm = "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n"
    assert cpu_name(machine({"proc/cpuinfo": arm})).endswith("0x41 0xd0c")
    assert cpu_name(machine({"proc/cpuinfo": ""}))
