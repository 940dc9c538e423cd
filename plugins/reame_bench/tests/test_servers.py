"""How servers are started, with programs that only pretend."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from reame_bench.errors import BenchError
from reame_bench.servers.llama_cpp_python import LlamaCppPython
from reame_bench.servers.llama_server import NGRAM, LlamaServer, with_draft
from reame_bench.servers.ollama import Ollama
from reame_bench.servers.reame import Reame
from reame_bench.servers.server import Job, running

ROOT = Path(__file__).parents[3]
PRETEND = f"""#!{sys.executable}
import os, sys
sys.path.insert(0, {str(ROOT)!r})
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "calls"), "a") as calls:
    print(*sys.argv[1:], file=calls)
if "create" in sys.argv:
    sys.exit(0)
address = os.environ.get("OLLAMA_HOST", "")
port = address.rpartition(":")[2] or sys.argv[sys.argv.index("--port") + 1]
from plugins.reame_bench.tests.stub import Stub
Stub(int(port)).serve_forever()
"""
FAIL = f"#!{sys.executable}\nraise SystemExit('there is no such model')\n"
ASK = [{"role": "user", "content": "?"}]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path / "model.gguf", "model", 2, users=3)


def program(folder: Path, text: str = PRETEND) -> Path:
    path = folder / "program"
    path.write_text(text)
    path.chmod(0o755)
    return path


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


@pytest.mark.parametrize("options", [(), NGRAM, with_draft(Path("/small.gguf"))])
def test_llama_server(tmp_path: Path, job: Job, options: tuple[str, ...]) -> None:
    contestant = LlamaServer(program(tmp_path), options=options)
    with running(contestant, job, tmp_path / "work") as server:
        assert server.client.chat(ASK, 3).tokens == 42
        assert server.cpu_seconds() > 0
        assert server.resident_bytes() > 0
    assert not server.client.healthy()
    [call] = calls(tmp_path)
    assert f"--model {job.model} " in call
    assert "--threads 2 --parallel 3 --ctx-size 12288" in call
    assert call.endswith(" ".join(options))


def test_ollama_is_told_what_to_serve(tmp_path: Path, job: Job) -> None:
    with running(Ollama(program(tmp_path)), job, tmp_path / "work") as server:
        assert server.client.chat(ASK, 3).tokens == 42
    assert not server.client.healthy()
    served, created = calls(tmp_path)
    assert served == "serve"
    assert created.startswith("create reame-bench -f ")
    recipe = (tmp_path / "work" / "Modelfile").read_text()
    assert recipe == f"FROM {job.model}\nPARAMETER num_thread 2\n"


@pytest.mark.parametrize("kind", [LlamaServer, Ollama])
def test_a_server_that_does_not_start_says_why(tmp_path: Path, job: Job, kind) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BenchError, match="does not start; it ended with status 1: there is no such model"):
        kind(program(tmp_path, FAIL)).start(job, tmp_path, 9)


def test_llama_cpp_python_gets_plain_weights_where_it_crashes(
    tmp_path: Path, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sys.executable", str(program(tmp_path, PRETEND.replace('if "create"', 'if "llama_cpp.server"')))
    )
    monkeypatch.setattr("reame_bench.servers.llama_cpp_python.available", lambda: True)
    with running(LlamaCppPython(), job, tmp_path / "work") as server:
        assert server.client.healthy()
    first, second = calls(tmp_path)
    assert first.startswith("-m llama_cpp.server --model")
    assert second.startswith("-m reame_bench.servers.llama_cpp_python_child --model")
    schema = LlamaCppPython().schema_fields({"type": "object"})
    assert schema == {"response_format": {"type": "json_object", "schema": {"type": "object"}}}


def test_reame_has_a_home_of_its_own_and_keeps_what_it_measured(
    tmp_path: Path, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("REAME_HOME", str(home))
    (home / "cache" / "bench").mkdir(parents=True)
    (home / "cache" / "bench" / "host.json").write_text("{}")
    monkeypatch.setattr("sys.executable", str(program(tmp_path)))
    work = tmp_path / "work"
    with running(Reame("reame"), job, work):
        assert (work / "state" / "host.json").read_text() == "{}"
        (work / "state" / "host.json").write_text('{"more": 1}')
    with running(Reame("reame"), job, work):
        pass
    assert (home / "cache" / "bench" / "host.json").read_text() == '{"more": 1}'
    assert calls(tmp_path)[0].startswith(f"-m reame_core serve {job.model} --port")
    assert Reame("reame", ()).best_of(5) is None
