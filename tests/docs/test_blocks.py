"""Every code block of the documentation is of a language that is tried out."""

from __future__ import annotations

import gc
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from reame_core.config import load_settings
from reame_core.models.catalogue import read_entry
from reame_core.plugins.api import PluginContext
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection
from reame_core.server.wire.requests import ChatRequest
from tests.docs import world
from tests.docs.commands import Shell, check_mention, commands_of
from tests.docs.pages import BLOCKS, SERVER, Block, blocks_of, in_language, inline_commands, pages

TRIED = {
    "console": "test_commands",
    "sh": "test_commands",
    "ini": "test_units.py",
    "json": "test_json",
    "jsonl": "test_json",
    "nginx": "test_nginx.py",
    "python": "test_python",
    "text": "",
    "toml": "test_toml",
    "yaml": "test_continue.py",
}
"""By which test. Texts are output and drawings."""


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_language_is_one_that_is_tried(block: Block) -> None:
    assert block.language in TRIED, f"{block} is not tried by any test"


def python_pages() -> list[Path]:
    return [page for page in pages() if any(block.language == "python" for block in blocks_of(page))]


@pytest.mark.parametrize("page", python_pages(), ids=lambda page: page.stem)
@pytest.mark.usefixtures("sessions")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # programs on pages end without closing their clients
def test_python(page: Path, alone: Path, server: str) -> None:
    """The blocks of a page run one after the other, and then their tests; plugins can be loaded, too."""
    names: dict[str, Any] = {}
    plugins = 0
    for block in blocks_of(page):
        if block.language == "python" and not block.file:  # files are tried by the commands behind them
            text = block.text.replace(SERVER, server)
            exec(compile(text, str(block), "exec"), names)
            if "@hookimpl" in text and "def test_" not in text:
                plugins += 1
                folder = alone / f"plugins{plugins}"
                folder.mkdir()
                (folder / "example.py").write_text(text)
                [report] = PluginManager(PluginSelection(strict=True, folder=folder), entry_points=[]).report()
                assert (report.state, report.why) == ("active", ""), block
    for name, value in list(names.items()):
        if name.startswith("test_"):
            value()
    names.clear()
    gc.collect()  # so that no later test is told of their open connections


@pytest.mark.parametrize("block", in_language("toml"), ids=str)
def test_toml(block: Block, alone: Path) -> None:
    """Settings are read by Reame and by the plugins that they are for, catalogues and packages as such."""
    document = tomllib.loads(block.text)
    if "project" in document:
        assert document["project"]["entry-points"]["reame"], block
    elif any("source" in table for table in document.values() if isinstance(table, dict)):
        for name, table in document.items():
            read_entry(name, table, str(block), alone)
    else:
        (alone / "reame.toml").write_text(block.text)
        settings = load_settings()
        check_options(settings.values.plugins.tables)


def without_places(table: Mapping[str, object]) -> dict[str, object]:
    """The options that are not paths of files and folders, which are not here."""
    return {name: value for name, value in table.items() if name != "folder" and not name.endswith("_file")}


def check_options(tables: Any) -> None:
    """Every table belongs to a plugin that is installed, which starts with it. Tables of plugins that the page
    itself is about are left out."""
    manager = PluginManager(PluginSelection(strict=True))
    installed = {name: table for name, table in tables.items() if name in manager.known_names()}
    model = world.backend()
    owners = {owner: table for table, owner in manager.check_tables(installed).items()}
    manager.startup(
        lambda plugin: PluginContext(
            model.info,
            without_places(installed.get(owners.get(plugin, ""), {})),
            {"model": "fake"},
            "fake",
            model.piece,
            model.tokenize,
            world._second_model,
        )
    )
    manager.shutdown()


def command_pages() -> list[Path]:
    return [page for page in pages() if any(block.language in ("console", "sh") for block in blocks_of(page))]


@pytest.mark.parametrize("page", command_pages(), ids=lambda page: page.stem)
@pytest.mark.usefixtures("sessions")
def test_commands(page: Path, alone: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of a page, in their order, in a folder with the files that the page shows."""
    monkeypatch.setattr("reame_core.cli.models.fetching.bring_here", lambda *_: None)
    monkeypatch.setattr("reame_core.cli.models.fetching.fetch", world.fetched)
    monkeypatch.setattr("reame_core.server.serve.serve", world.serve_once)
    shell = Shell(alone, server)
    for block in blocks_of(page):
        if block.file:
            path = shell.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        if block.language in ("console", "sh"):
            for command in commands_of(block):
                shell.run(command)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_commands_within_sentences(page: Path) -> None:
    for code in inline_commands(page):
        check_mention(code)


@pytest.mark.parametrize(
    "code",
    [
        *("reame serve --paralel 4", "reame arca doktor", "reame nothing", "reame cache --list"),
        *("python -m bench core --modell x.gguf", "uv run python -m bench kore"),
    ],
)
def test_what_a_sentence_names_wrongly_is_found(code: str) -> None:
    with pytest.raises(AssertionError, match="there is no"):
        check_mention(code)


@pytest.mark.parametrize(
    "command",
    [
        *("reame serve --paralel 4", "reame bench --only everything", "reame bench --server nobody"),
        *("python -m bench core --modell x.gguf", "uv run python -m bench core --only letters --model x.gguf"),
        *("reame arca doktor", "reame pull", "reame nothing"),
    ],
)
@pytest.mark.usefixtures("sessions")
def test_a_wrong_command_is_found(command: str, alone: Path) -> None:
    with pytest.raises(AssertionError):
        Shell(alone, SERVER).run(command)


@pytest.mark.parametrize("block", in_language("json", "jsonl"), ids=str)
def test_json(block: Block, server: str) -> None:
    """It can be read, and what is a request, or a part of one, is answered."""
    texts = block.text.splitlines() if block.language == "jsonl" else [block.text]
    for text in texts:
        part = text.startswith('"')  # of an object: an excerpt of an answer
        document = json.loads(f"{{{text}}}" if part else text)
        if part or not isinstance(document, dict):
            continue
        known = document.keys() & {field.encode_name for field in msgspec.structs.fields(ChatRequest)}
        if "prompt" in document:
            path, body = "/v1/completions", document
        elif "messages" in document or known == document.keys():
            path = "/v1/chat/completions"
            body = {"messages": [{"role": "user", "content": "Name a fish."}]} | document
        else:
            continue
        answer = httpx.post(f"{server}{path}", json={"model": "fake", "max_tokens": 8} | body, timeout=60)
        assert answer.status_code == 200, f"{block}: {answer.text}"
