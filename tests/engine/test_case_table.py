"""The table of replayed bug reports names only tests that exist, and misses none of this folder."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "tests" / "CASES.md").read_text("utf-8")


def known_tests() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "plugins").glob("*/tests/**/test_*.py")]:
        names = re.findall(r"^ *(?:async )?def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE)
        found.setdefault(path.name, set()).update(names)
    return found


def numbers(text: str) -> set[int]:
    """The case numbers in a text such as ``1, 26–41``."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:–(\d+))?", text):
        found.update(range(int(first), int(last or first) + 1))
    return found


def test_every_test_in_the_table_exists() -> None:
    tests = known_tests()
    everywhere = set().union(*tests.values())
    for name in re.findall(r"`(?:[\w/]*/)?(test_[\w:.*…]+)`", TABLE):
        file, _, test = name.rpartition("::")
        pattern = test.replace("…", "*")
        if pattern.endswith(".py"):
            assert pattern in tests, name
            continue
        assert any(fnmatch(known, pattern) for known in (tests[file] if file else everywhere)), name


def test_every_case_of_this_folder_is_in_its_part_of_the_table() -> None:
    part = TABLE.split("\n## ")[1]
    listed = set().union(*(numbers(row) for row in re.findall(r"^\| ([\d, –]+) \|", part, re.MULTILINE)))
    for path in Path(__file__).parent.glob("test_*.py"):
        for comment in re.findall(r"# cases? ([\d, and]+)", path.read_text("utf-8")):
            assert numbers(comment) <= listed, f"{path.name}: {comment}"
