"""What changed is told in files of its own, of which towncrier makes the changelog."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRAGMENTS = sorted(path for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md")
TYPES = ("added", "changed", "deprecated", "removed", "fixed", "security")


@pytest.fixture(scope="module")
def draft() -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9", "--date", "2000-01-01"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def words(text: str) -> list[str]:
    return [word for word in text.split() if word != "-"]


def test_the_draft_has_a_title(draft: str) -> None:
    assert "## [9.9] - 2000-01-01" in draft


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_every_change_is_in_the_draft(path: Path, draft: str) -> None:
    found = re.fullmatch(rf"(\+[a-z0-9-]+|\d+)\.({'|'.join(TYPES)})(\.\d+)?\.md", path.name)
    assert found is not None, "see changelog.d/README.md"
    text = path.read_text("utf-8")
    assert not text.lstrip().startswith(("-", "*", "#")), "one entry, without a dash in front"
    section = draft.partition(f"### {found[2].capitalize()}\n")[2].partition("\n### ")[0]
    assert " ".join(words(text)) in " ".join(words(section))


def test_nothing_unreleased_is_in_the_changelog_itself() -> None:
    """It would not be moved to its version at a release."""
    page = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "Unreleased" not in page
    introduction, marker, _ = page.partition("<!-- towncrier release notes start -->\n")
    assert marker
    assert "\n- " not in introduction
    assert "\n## " not in introduction
