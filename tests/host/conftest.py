"""A root directory with the /proc and /sys of a made-up machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Machine = Callable[..., Path]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """``machine(files, cores=4, threads=2)``: files by path below the root, and a processor topology."""

    def build(files: Mapping[str, str] | None = None, *, cores: int = 4, threads: int = 2) -> Path:
        count = cores * threads
        everything = {
            "proc/meminfo": "MemTotal:  16000000 kB\nMemAvailable:  8000000 kB\n",
            "sys/devices/system/cpu/online": f"0-{count - 1}\n" if count else "",
        }
        for cpu in range(count):
            # hyperthreads as most machines number them: cpu and cpu + cores share a core
            together = ",".join(str(cpu % cores + cores * i) for i in range(threads))
            everything[f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"] = together + "\n"
        for name, content in (everything | dict(files or {})).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path

    return build


CGROUP2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
CGROUP1 = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


@pytest.fixture
def version_2() -> Callable[..., dict[str, str]]:
    """Files of a version 2 hierarchy: the group's path, then the files of each group by path."""

    def files(own: str, **groups: str) -> dict[str, str]:
        made = {"proc/self/cgroup": f"0::{own}\n", "proc/self/mountinfo": CGROUP2}
        return made | {f"sys/fs/cgroup/{path}": content + "\n" for path, content in groups.items()}

    return files


@pytest.fixture
def version_1() -> Callable[..., dict[str, str]]:
    def files(own: str, **groups: str) -> dict[str, str]:
        made = {
            "proc/self/cgroup": f"5:memory:{own}\n3:cpu,cpuacct:{own}\n0::/\n",
            "proc/self/mountinfo": CGROUP1,
        }
        return made | {f"sys/fs/cgroup/{path}": content + "\n" for path, content in groups.items()}

    return files
