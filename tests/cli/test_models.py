"""``reame list``, ``pull``, ``show`` and ``rm``, and what ``run`` fetches."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reame_core.cli.models import progress as progress_module
from reame_core.cli.models.progress import BarProgress, LineProgress, progress_on_stderr
from tests.download import file_server
from tests.download.conftest import a_model
from tests.download.file_server import COMMIT, FileServer

if TYPE_CHECKING:
    from click.testing import Result

    from tests.cli.conftest import FakeSession

    Invoke = Callable[..., Result]

MODEL = a_model(200_000)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, alone: Path) -> Iterator[FileServer]:
    """A hub with one repository, whose files it has itself; also any other web server."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(alone / "hf"))
    with file_server.running() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        running.repositories["ada/Tiny-GGUF"] = {"tiny-q4_k_m.gguf": MODEL}
        running.files[f"/ada/Tiny-GGUF/resolve/{COMMIT}/tiny-q4_k_m.gguf"] = MODEL
        running.files["/x/web.gguf"] = MODEL
        yield running


@pytest.fixture
def models(alone: Path) -> Path:
    return alone.parent / "home" / "models"


def catalogue(alone: Path, **entries: dict[str, Any]) -> None:
    """The user's own."""
    (alone.parent / "home").mkdir(exist_ok=True)
    text = "".join(
        f'["{name}"]\n' + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        for name, table in entries.items()
    )
    (alone.parent / "home" / "models.toml").write_text(text)


def table(result: Result) -> dict[str, list[str]]:
    return {
        cells[0]: cells[1:] for line in result.stdout.splitlines()[1:] if (cells := re.split(r" {2,}", line))
    }


def test_list_shows_what_there_is_and_what_fits(
    invoke: Invoke, alone: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reame_core.host.memory.available_memory", lambda: 1_000_000_000)
    models.mkdir(parents=True)
    (models / "odd.gguf").write_bytes(MODEL)
    (models / ".reame").mkdir()
    (models / ".reame" / "qwen2.5-0.5b.gguf.part").write_bytes(b"GGUF")
    result = invoke("list")
    assert (result.exit_code, result.stderr) == (0, "")
    shown = table(result)
    assert shown["qwen2.5-0.5b"][:5] == ["in part", "491 MB", "692 MB", "yes", "32768"]
    assert shown["qwen2.5-1.5b"][3] == "slowly"
    assert shown["odd"][:5] == ["yes", "200 KB", "?", "?", "?"]
    assert set(table(invoke("list", "--here"))) <= {"odd", "smollm2-135m"}
    assert "qwen2.5-1.5b" not in table(invoke("list", "--fits"))
    objects = {each["name"]: each for each in json.loads(invoke("list", "--json").stdout)}
    assert objects["odd"]["path"] == str(models / "odd.gguf")
    assert objects["qwen2.5-0.5b"]["unfinished"] == 4
    assert objects["qwen2.5-0.5b"]["fits"] == "yes"


def test_list_of_nothing(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reame_core.host.memory.available_memory", lambda: 0)
    result = invoke("list", "--fits")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "there is none" in result.stderr


def test_pull_by_name(invoke: Invoke, server: FileServer, alone: Path, models: Path) -> None:
    catalogue(alone, tiny={"source": "hf:ada/Tiny-GGUF", "sha256": file_server.sha256(MODEL)})
    result = invoke("pull", "tiny")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{models / 'tiny.gguf'}\n"
    assert (models / "tiny.gguf").read_bytes() == MODEL
    lines = result.stderr.splitlines()
    assert lines[0] == "fetching tiny-q4_k_m.gguf: 0 % (0 bytes of 200 KB)"
    assert lines[-1] == "tiny is here (200 KB; its checksum is right)"
    again = invoke("pull", "tiny")
    assert (again.stdout, again.stderr) == (result.stdout, "tiny is here already (200 KB)\n")
    assert len(server.gets("/resolve/")) == 1
    assert invoke("pull", "tiny", "--force").exit_code == 0
    assert len(server.gets("/resolve/")) == 2


def test_pull_of_what_is_in_no_catalogue(invoke: Invoke, server: FileServer, models: Path) -> None:
    assert invoke("pull", "hf:ada/Tiny-GGUF").stdout == f"{models / 'tiny-q4_k_m.gguf'}\n"
    web = invoke("pull", f"{server.url}/x/web.gguf")
    assert web.stdout == f"{models / 'web.gguf'}\n"
    assert web.stderr.splitlines()[-1] == "web is here (200 KB; nobody says which checksum it should have)"
    named = invoke("pull", f"{server.url}/x/web.gguf", "--name", "mine")
    assert named.stdout == f"{models / 'mine.gguf'}\n"
    assert set(table(invoke("list", "--here"))) - {"smollm2-135m"} == {"tiny-q4_k_m", "web", "mine"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["qwen2.5-0.5"], "there is no model named 'qwen2.5-0.5': did you mean qwen2.5-0.5b"),
        (["hf:ada"], "the model must be hf:ORG/REPO"),
        (["hf:ada/none"], "there is no repository ada/none"),
        (["hf:ada/Tiny-GGUF:q9"], "has no file 'q9'"),
        (["hf:ada/Tiny-GGUF", "--name", "../x"], "--name: '../x' cannot be the name of a model"),
        (["lost"], "lost cannot be fetched: put it at "),
        ([""], "the model's name is empty"),
        ([], "missing argument 'MODEL'"),
    ],
)
def test_pull_refuses_in_one_line(
    arguments: list[str], message: str, invoke: Invoke, server: FileServer, alone: Path, models: Path
) -> None:
    catalogue(alone, lost={"source": "lost.gguf"})
    result = invoke("pull", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(models.glob("*.gguf"))


def test_case_127_pull_without_a_place_for_models(
    invoke: Invoke, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAME_HOME", "/proc/none")
    result = invoke("pull", "hf:ada/Tiny-GGUF")
    assert result.exit_code == 2
    assert re.fullmatch(
        r"error: no model can be put into /proc/none/models \(.*\): name a folder .*\n", result.stderr
    )
    monkeypatch.setenv("REAME_MODEL__FOLDER", "elsewhere")
    assert invoke("pull", "hf:ada/Tiny-GGUF").exit_code == 0


def test_show_of_a_model_that_is_not_here(invoke: Invoke) -> None:
    result = invoke("show", "qwen2.5-7b")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "path          not on this machine (reame pull fetches it)\n" in result.stdout
    assert "licence       Apache-2.0\n" in result.stdout
    assert "memory        about 5.1 GB for one conversation of 4096 tokens (weights 4.7 GB, KV" in result.stdout
    shown = json.loads(invoke("show", "qwen2.5-7b", "--json").stdout)
    assert (shown["path"], shown["size"], shown["memory"]["estimated"]) == (None, 4_683_000_000, True)


def test_show_of_a_model_that_was_fetched(invoke: Invoke, server: FileServer, models: Path) -> None:
    invoke("pull", "hf:ada/Tiny-GGUF", "--name", "tiny")
    shown = json.loads(invoke("show", "tiny", "--json").stdout)
    assert shown["source"] == f"hf:ada/Tiny-GGUF@{COMMIT}:tiny-q4_k_m.gguf"
    assert shown["sha256"] == [file_server.sha256(MODEL)]
    assert (shown["path"], shown["size"]) == (str(models / "tiny.gguf"), len(MODEL))
    assert json.loads(invoke("show", "hf:ada/Tiny-GGUF", "--json").stdout) == shown
    by_path = json.loads(invoke("show", str(models / "tiny.gguf"), "--json").stdout)
    assert by_path == {key: shown[key] for key in by_path}
    assert "source" not in by_path


def test_show_of_nothing(invoke: Invoke) -> None:
    result = invoke("show", "./none.gguf")
    assert result.exit_code == 2
    assert "there is no file none.gguf" in result.stderr


def test_rm(invoke: Invoke, server: FileServer, models: Path) -> None:
    for name in ("a", "b"):
        invoke("pull", "hf:ada/Tiny-GGUF", "--name", name)
    (models / ".reame" / "qwen2.5-0.5b.gguf.part").write_bytes(bytes(1000))
    refused = invoke("rm", "a", "c")
    assert (refused.exit_code, (models / "a.gguf").exists()) == (2, True)
    result = invoke("rm", "a", "qwen2.5-0.5b")
    assert re.fullmatch(r"removed a \(2\d\d KB\)\nremoved qwen2.5-0.5b \(1.0 KB\)\n", result.stdout)
    assert [path.name for path in models.glob("*.gguf")] == ["b.gguf"]
    assert invoke("rm", "hf:ada/Tiny-GGUF").stdout.startswith("removed b ")
    assert list(models.glob("*.gguf")) == []


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("qwen2.5-7b", "qwen2.5-7b is not in the models folder, so there is nothing to remove"),
        ("smollm2-135m", "smollm2-135m is "),
        ("../home/models/x", "there is no model named '../home/models/x'"),
        ("xyzzy", "there is no model named 'xyzzy'"),
    ],
)
def test_rm_of_what_is_not_there(invoke: Invoke, model: str, message: str) -> None:
    result = invoke("rm", model)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_run_fetches_what_is_not_here(
    invoke: Invoke, server: FileServer, session: FakeSession, models: Path
) -> None:
    result = invoke("run", "hf:ada/Tiny-GGUF", "Hi")
    assert (result.exit_code, result.stdout) == (0, "Red, blue.\n")
    assert result.stderr.splitlines()[-1] == "tiny-q4_k_m is here (200 KB; its checksum is right)"
    assert session.model == "hf:ada/Tiny-GGUF"
    second = invoke("run", "hf:ada/Tiny-GGUF", "Hi")
    assert (second.exit_code, second.stderr) == (0, "")


def test_run_says_why_it_cannot_fetch(invoke: Invoke, server: FileServer, session: FakeSession) -> None:
    result = invoke("run", "hf:ada/none", "Hi")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no repository ada/none" in result.stderr
    assert session.model == ""


@pytest.mark.parametrize(
    ("terminal", "term", "kind"),
    [(True, "xterm", BarProgress), (True, "dumb", LineProgress), (False, "xterm", LineProgress)],
)
def test_where_a_bar_is_drawn(terminal: bool, term: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "is_terminal", lambda stream: terminal)
    monkeypatch.setenv("TERM", term)
    assert type(progress_on_stderr()) is kind


def test_lines_come_at_each_tenth() -> None:
    lines: list[str] = []
    progress = LineProgress(lines.append)
    progress.begin("a\nb")
    for done in range(1001):
        progress.update(1_000_000 * done, 1_000_000_000)
    assert len(lines) == 11
    assert lines[0] == "fetching a\\nb: 0 % (0 bytes of 1.0 GB)"
    assert lines[-1] == "fetching a\\nb: 100 % (1.0 GB of 1.0 GB)"
    lines.clear()
    progress.begin("b")
    for done in range(0, 250, 10):
        progress.update(1_000_000 * done, None)
    assert lines == ["fetching b: (0 bytes)", "fetching b: (100 MB)", "fetching b: (200 MB)"]


@pytest.mark.parametrize("command", ["list", "pull", "show", "rm", "run", "serve"])
def test_help_names_the_environment(invoke: Invoke, command: str) -> None:
    page = invoke(command, "--help").stdout
    assert re.search(r"\nEnvironment:\n(  .*\n)*  REAME_CONFIG +the settings file", page)
    assert re.search(r"\nExit status:\n  0 +all is well\n", page)
    assert command not in ("run", "serve") or re.search(r"\n  REAME_MODEL__THREADS +as --threads\n", page)
    assert command not in ("run", "serve", "pull") or "HF_TOKEN" in page
