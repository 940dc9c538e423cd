"""``reame completion``, and what the shells get when they ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from click.testing import Result

    Invoke = Callable[..., Result]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(invoke: Invoke, shell: str) -> None:
    result = invoke("completion", shell)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"_REAME_COMPLETE={shell}_complete" in result.stdout


def test_the_shell_of_this_user(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "_REAME_COMPLETE=fish_complete" in invoke("completion").stdout
    for other in ("/bin/dash", ""):
        monkeypatch.setenv("SHELL", other)
        result = invoke("completion")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == "error: name the shell: bash, zsh, fish are known\n"


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_can_read_the_script(invoke: Invoke) -> None:
    script = invoke("completion", "bash").stdout
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def asked(words: str, tmp_path: Path) -> list[str]:
    """What bash gets for a line whose last word is being typed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REAME_")}
    count = len(words.split()) - (not words.endswith(" "))
    environment |= {
        "_REAME_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(count),
        "REAME_HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "reame_core"], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_commands_options_and_models_are_completed(tmp_path: Path) -> None:
    assert asked("reame pul", tmp_path) == ["plain,pull"]
    assert asked("reame pull qwen2.5-c", tmp_path) == [
        "plain,qwen2.5-coder-0.5b",
        "plain,qwen2.5-coder-1.5b",
        "plain,qwen2.5-coder-3b",
    ]
    assert asked("reame run ./mo", tmp_path) == ["file,./mo"]
    assert "plain,--temperature" in asked("reame run smollm2-135m --te", tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine.gguf").touch()
    assert asked("reame rm ", tmp_path) == ["plain,mine"]
    (tmp_path / "models.toml").write_text("[")
    assert asked("reame rm ", tmp_path) == []
