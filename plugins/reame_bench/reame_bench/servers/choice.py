"""Contestants by what is written on the command line, and those that take part when nothing is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from reame_bench.servers import llama_cpp_python
from reame_bench.servers.llama_server import NGRAM, LlamaServer, with_draft
from reame_bench.servers.ollama import Ollama
from reame_bench.servers.reame import Reame, installed
from reame_bench.servers.remote import Remote
from reame_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_bench.servers.server import Contestant

FORMS = (
    "reame, reame:PLUGIN,PLUGIN (only these; reame: for none), llama-server, llama-server-ngram, "
    "llama-cpp-python, "
    "ollama, or NAME=http://HOST:PORT[#PID]"
)


def choose(
    wanted: Sequence[str],
    llama_server: Path | None = None,
    draft: Path | None = None,
    store: str | None = None,
) -> list[Contestant]:
    """Those that are ``wanted``, or else Reame with all plugins, Reame with none, and every other server that
    is installed. With ``draft`` also the variants with that draft model, with the url of a ``store`` Reame with
    that, and beside Reame the same with reame-memo where that is here. Raises UsageError."""
    binary = llama_server or _on_path("llama-server")
    if wanted:
        chosen = [_one(text, binary) for text in wanted]
    else:
        chosen = [Reame("reame"), Reame("reame without plugins", ())]
        if binary:
            chosen += [LlamaServer(binary), LlamaServer(binary, "llama-server-ngram", NGRAM)]
        if llama_cpp_python.available():
            chosen.append(llama_cpp_python.LlamaCppPython())
        if ollama := _on_path("ollama"):
            chosen.append(Ollama(ollama))
    if draft is not None:
        chosen += _with_draft_model(draft, binary, {each.name for each in chosen})
    if store is not None:
        chosen.append(_keeping("reame, store", {"plugins.arca.url": store}))
    if installed("memo") and any(each.name == "reame" for each in chosen):
        chosen.append(_keeping("reame, memo", {"plugins.memo.max_size_mb": 256}))
    names = [each.name for each in chosen]
    if len(set(names)) < len(names):
        raise UsageError(f"--server names {', '.join(names)}: each can take part once")
    return chosen


def _keeping(name: str, settings: dict[str, object]) -> Contestant:
    """Reame where whole answers are kept, for the workload about that."""
    server = Reame(name, settings=settings)
    server.only = frozenset({"kept"})
    return server


def _with_draft_model(draft: Path, binary: Path | None, names: set[str]) -> list[Contestant]:
    found: list[Contestant] = []
    if "reame" in names:
        found.append(Reame("reame, draft model", settings={"plugins.draftmodel.model": draft}))
    if binary and "llama-server" in names:
        found.append(LlamaServer(binary, "llama-server, draft model", with_draft(draft)))
    for each in found:
        each.only = frozenset({"draft-model"})
    return found


def _one(text: str, binary: Path | None) -> Contestant:
    name, colon, plugins = text.partition(":")
    if text == "reame":
        return Reame("reame")
    if name == "reame" and colon:
        chosen = tuple(filter(None, plugins.split(",")))
        return Reame(f"reame with {', '.join(chosen)}" if chosen else "reame without plugins", chosen)
    if text in ("llama-server", "llama-server-ngram"):
        if binary is None:
            raise UsageError(f"--server {text}: there is no llama-server on the PATH; give --llama-server FILE")
        return LlamaServer(binary, text, NGRAM if text.endswith("ngram") else ())
    if text == "llama-cpp-python":
        return llama_cpp_python.LlamaCppPython()
    if text == "ollama":
        ollama = _on_path("ollama")
        if ollama is None:
            raise UsageError("--server ollama: there is no ollama on the PATH")
        return Ollama(ollama)
    name, equals, url = text.partition("=")
    if equals and url.startswith("http://"):
        address, _, pid = url.partition("#")
        if pid and not pid.isdigit():
            raise UsageError(f"--server {text}: the part behind # must be the number of a process")
        return Remote(name, address, pid=int(pid) if pid else None)
    raise UsageError(f"--server {text!r} is not known: {FORMS}")


def _on_path(program: str) -> Path | None:
    found = shutil.which(program)
    return Path(found) if found else None
