"""Units of systemd on the pages."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.commands import check_words
from tests.docs.pages import Block, in_language


@pytest.mark.parametrize("block", in_language("ini"), ids=str)
def test_units(block: Block, alone: Path, tmp_path: Path) -> None:
    """Their commands are ours, and systemd itself finds nothing wrong where it is installed."""
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read_string(block.text)
    assert unit.has_section("Unit")
    if unit.has_option("Service", "ExecStart"):
        env, *words = unit["Service"]["ExecStart"].split()
        assert env == "/usr/bin/env"
        assert words[0] == "reame"
        files = [word for word in words if word.startswith("/")]
        here = [alone / Path(word).name for word in files]
        for path in here:
            path.touch()
        names = dict(zip(files, map(str, here), strict=True))
        check_words([names.get(word, word) for word in words[1:]], alone)
    if shutil.which("systemd-analyze"):
        others = [each for each in in_language("ini") if each.page == block.page]
        for each in others:
            (tmp_path / each.file).write_text(each.text)
        ran = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", tmp_path / block.file],
            capture_output=True,
            text=True,
            check=False,
        )
        about_it = [
            line for line in ran.stderr.splitlines() if block.file in line and "not executable" not in line
        ]
        assert not about_it, ran.stderr
