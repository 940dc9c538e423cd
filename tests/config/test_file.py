"""Which file is read, and what may be wrong with one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from reame_core.config import load_settings
from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.config.conftest import Load


def with_threads(path: Path, threads: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[model]\nthreads = {threads}\n")
    return path


def refusal(load: Load, toml: str) -> str:
    with pytest.raises(ConfigError) as error:
        load(toml)
    message = str(error.value)
    assert "\n" not in message
    return message


def test_the_nearest_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"REAME_HOME": str(tmp_path / "home")}
    assert load_settings(environment=environment).file is None

    of_user = with_threads(tmp_path / "home" / "reame.toml", 1)
    settings = load_settings(environment=environment)
    assert (settings.file, settings.values.model.threads) == (of_user, 1)

    here = with_threads(tmp_path / "reame.toml", 2)
    settings = load_settings(environment=environment)
    assert (settings.file, settings.values.model.threads) == (here, 2)
    assert str(settings.origin("model.threads")) == f"file {here}"

    environment["REAME_CONFIG"] = str(with_threads(tmp_path / "third.toml", 3))
    assert load_settings(environment=environment).values.model.threads == 3

    fourth = with_threads(tmp_path / "fourth.toml", 4)
    assert load_settings(config_file=str(fourth), environment=environment).values.model.threads == 4


def test_an_empty_choice_of_file_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings(environment={"REAME_HOME": str(tmp_path), "REAME_CONFIG": ""}).file is None


def test_paths_count_from_the_folder_of_the_file(load: Load, tmp_path: Path) -> None:
    values = load('[model]\npath = "models/x.gguf"\n[plugins]\nfolder = "../mine"\n').values
    assert values.model.path == str(tmp_path / "models" / "x.gguf")
    assert values.plugins.folder == str(tmp_path.parent / "mine")
    assert load('[model]\npath = "X.GGUF"\n').values.model.path == str(tmp_path / "X.GGUF")
    assert load('[model]\npath = "smollm2-135m"\n').values.model.path == "smollm2-135m"
    assert load('[model]\npath = ""\n').values.model.path is None


def test_home_is_expanded(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert load('[model]\npath = "~/x.gguf"\n').values.model.path == "/home/ada/x.gguf"
    assert load(environment={"REAME_MODEL__PATH": "~/x.gguf"}).values.model.path == "/home/ada/x.gguf"


def test_a_byte_order_mark_is_no_error(load: Load) -> None:
    assert load("\N{ZERO WIDTH NO-BREAK SPACE}[model]\r\nthreads = 3\r\n").values.model.threads == 3


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[model]\nthreads = \n", "FILE, line 2: not valid TOML: invalid value"),
        (
            "[model\nthreads = 1\n",
            "FILE, line 1: not valid TOML: expected ']' at the end of a table declaration",
        ),
        ("[model]\nmmap = true\nmmap = false\n", "FILE, line 3: not valid TOML: cannot overwrite a value"),
        ('[model]\n\npath = "x', "FILE, line 3: not valid TOML: unterminated string"),
        ("[modle]\nthreads = 1\n", "FILE: unknown section [modle]; did you mean [model]?"),
        (
            "[zebra]\n",
            "FILE: unknown section [zebra]; the sections are model, engine, sampling, chat, server, plugins",
        ),
        ("[model]\nthread = 1\n", "FILE: unknown setting model.thread; did you mean model.threads?"),
        (
            "[model]\ncontext-length = 1\n",
            "FILE: unknown setting model.context-length; did you mean model.context_length?",
        ),
        ("[model]\nparallel = 1\n", "FILE: unknown setting model.parallel; did you mean engine.parallel?"),
        ("threads = 1\n", "FILE: unknown setting threads; did you mean model.threads?"),
        (
            '[model]\n"a\\nb" = 1\n',
            "FILE: unknown setting model.'a\\nb'; [model] has path, context_length,"
            " threads, kv_cache_type, mmap, mlock, folder, catalogue",
        ),
        ("zebra = 1\n", "FILE: unknown setting zebra; settings belong into a section"),
        (
            "[model]\nzebra = 1\n",
            "FILE: unknown setting model.zebra; [model] has path, context_length, threads, kv_cache_type,"
            " mmap, mlock, folder, catalogue",
        ),
        ("model = 'x.gguf'\n", "FILE: model must be a section [model], not 'x.gguf'"),
        ("[[model]]\nthreads = 1\n", "FILE: model must be a section [model], not [{'threads': 1}]"),
        (
            "[plugins]\ndisabel = ['a']\n",
            "FILE: unknown setting plugins.disabel; did you mean plugins.disable?",
        ),
        (
            "[plugins]\nzebra = 1\n",
            "FILE: unknown setting plugins.zebra; a plugin's own settings go into a table [plugins.NAME]",
        ),
        ("[plugins.disable]\na = 1\n", "FILE: plugins.disable must be a list of names, not a table"),
        (
            "[plugins]\ntables = 1\n",
            "FILE: unknown setting plugins.tables; a plugin's own settings go into a table [plugins.NAME]",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(toml: str, message: str, load: Load, file: Path) -> None:
    assert refusal(load, toml).replace(str(file), "FILE") == message


def test_a_file_that_is_no_text(load: Load, file: Path) -> None:
    file.write_bytes(b"[model]\npath = '\xff'\n")
    with pytest.raises(ConfigError, match=r"reame.toml, line 2: not UTF-8 text \(byte 0xff\)"):
        load_settings(config_file=str(file), environment={})


def test_absurd_files_are_refused_in_one_line(load: Load) -> None:
    assert "not valid TOML" in refusal(load, "[model]\nthreads = " + "9" * 5000 + "\n")
    assert refusal(load, "[model]\nthreads = " + "[" * 20000 + "\n").endswith("nested too deeply")
    assert "too large" in refusal(load, "#" * (1 << 20) + "\n")


def test_a_chosen_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none.toml: cannot read the settings: No such file or directory"):
        load_settings(config_file=str(tmp_path / "none.toml"), environment={})
    with pytest.raises(ConfigError, match=r"cannot read the settings: Is a directory"):
        load_settings(environment={"REAME_CONFIG": str(tmp_path)})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    file = with_threads(tmp_path / "x.toml", 1)
    file.chmod(0)
    with pytest.raises(ConfigError, match=r"x.toml: cannot read the settings: Permission denied"):
        load_settings(config_file=str(file), environment={})


def test_a_dangling_link_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reame.toml").symlink_to(tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match="No such file"):
        load_settings(environment={})
