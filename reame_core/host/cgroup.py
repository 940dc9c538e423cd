"""What the control groups of this process allow: CPU time and memory, version 1 and 2, nested groups included.

A limit on any group up to the root of what can be seen from here binds, so the smallest one counts. A
container often sees its own group as the root of the mount, and may then be shown a path outside of it;
the mount's own root is what applies there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path("/")
_NO_LIMIT = 1 << 60
"""Version 1 writes "no limit" as a number near 2**63."""


@dataclass(frozen=True, slots=True)
class Group:
    """One control group directory."""

    path: Path
    version: int


def cpu_quota(root: Path = ROOT) -> float | None:
    """Processors' worth of time this process may use, None without a limit."""
    quotas = (_quota(group) for group in _groups(root, "cpu"))
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_left(root: Path = ROOT) -> int | None:
    """Bytes this process may still use before a memory limit binds, None without a limit. Pages of files that
    the kernel would drop first count as free."""
    left = (_left(group) for group in _groups(root, "memory"))
    return min((amount for amount in left if amount is not None), default=None)


def read_text(path: Path) -> str | None:
    """The text of a small kernel file, None where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _quota(group: Group) -> float | None:
    if group.version == 2:
        quota, _, period = (read_text(group.path / "cpu.max") or "").partition(" ")
    else:
        quota = read_text(group.path / "cpu.cfs_quota_us") or ""
        period = read_text(group.path / "cpu.cfs_period_us") or ""
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return None
    return int(quota) / int(period)


def _left(group: Group) -> int | None:
    if group.version == 2:
        limits = [_bytes(group.path / name) for name in ("memory.max", "memory.high")]
        used, droppable = _bytes(group.path / "memory.current"), "inactive_file"
    else:
        limits = [_bytes(group.path / "memory.limit_in_bytes")]
        used, droppable = _bytes(group.path / "memory.usage_in_bytes"), "total_inactive_file"
    limit = min((limit for limit in limits if limit is not None and limit < _NO_LIMIT), default=None)
    if limit is None:
        return None
    kept = max((used or 0) - _statistic(group.path / "memory.stat", droppable), 0)
    return max(limit - kept, 0)


def _bytes(path: Path) -> int | None:
    text = read_text(path)
    return int(text) if text is not None and text.isdigit() else None


def _statistic(path: Path, name: str) -> int:
    for line in (read_text(path) or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return 0


def _groups(root: Path, controller: str) -> list[Group]:
    """The groups of this process that ``controller`` may limit, from the inmost outwards."""
    paths = _own_paths(root, controller)
    found = []
    for line in (read_text(root / "proc/self/mountinfo") or "").splitlines():
        mount = _mount(line)
        if mount is None:
            continue
        version, mounted_root, mount_point, options = mount
        if version == 1 and controller not in options:
            continue
        own = paths.get(version)
        if own is not None:
            found += [Group(path, version) for path in _upwards(root, mount_point, mounted_root, own)]
    return found


def _own_paths(root: Path, controller: str) -> dict[int, PurePosixPath]:
    paths: dict[int, PurePosixPath] = {}
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            paths[2] = PurePosixPath(path)
        elif controller in controllers.split(","):
            paths[1] = PurePosixPath(path)
    return paths


def _mount(line: str) -> tuple[int, PurePosixPath, PurePosixPath, list[str]] | None:
    # 36 35 98:0 /root /mount/point rw,noatime master:1 - cgroup2 source rw,options
    before, _, after = line.partition(" - ")
    fields, kind = before.split(" "), after.split(" ")
    version = {"cgroup2": 2, "cgroup": 1}.get(kind[0])
    if version is None or len(fields) < 5 or len(kind) < 3:
        return None
    mounted_root, mount_point = (PurePosixPath(_unescaped(field)) for field in fields[3:5])
    return version, mounted_root, mount_point, kind[2].split(",")


def _unescaped(field: str) -> str:
    for escaped, char in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        field = field.replace(escaped, char)
    return field


def _upwards(root: Path, mount_point: PurePosixPath, mounted: PurePosixPath, own: PurePosixPath) -> list[Path]:
    base = root / mount_point.relative_to("/")
    if ".." in own.parts or not own.is_relative_to(mounted):
        return [base]
    below = own.relative_to(mounted)
    return [base / part for part in (below, *below.parents)]
