"""From a name and settings to answers of a real model, and what is remembered on the way."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from reame_core.config import Flag, Settings, load_settings
from reame_core.engine.events import Finished, TextDelta
from reame_core.engine.request import Request
from reame_core.errors import ConfigError, ModelError, NotEnoughMemory, PluginError, UnknownModel
from reame_core.plugins.selection import PluginSelection
from reame_core.session import open_session

pytestmark = pytest.mark.model

PLUGIN = """
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Draft
seen = {}

@hookimpl
def startup(context):
    seen["options"] = dict(context.options)
    seen["namespace"] = dict(context.namespace)
    seen["model"] = context.model.name

@hookimpl
def propose_draft(sequence, limit):
    return Draft([1, 2, 3])

@hookimpl
def shutdown():
    print("seen", seen)
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REAME_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def settings(*flags: tuple[str, str]) -> Settings:
    fixed = [("engine.extra_buffers", "off"), ("model.context_length", "256"), ("engine.parallel", "1")]
    return load_settings([Flag(f"--{key}", key, value) for key, value in (*fixed, *flags)], environment={})


def nothing() -> PluginSelection:
    return PluginSelection(only=())


def ask(session: Any, text: str = "Name a fish.", tokens: int = 6) -> tuple[str, Finished]:
    events = list(
        session.stream(
            Request(prompt=session.chat_tokens([{"role": "user", "content": text}]), max_tokens=tokens)
        )
    )
    assert isinstance(events[-1], Finished)
    return "".join(e.text for e in events if isinstance(e, TextDelta)), events[-1]


def remembered(home: Path) -> dict[str, Any]:
    files = list((home / "state").glob("*.json"))
    return json.loads(files[0].read_text()) if files else {}


def test_an_answer_and_a_remembered_prompt(home: Path) -> None:
    progress: list[str] = []
    with open_session(settings(), "smollm2-135m", progress=progress.append, selection=nothing()) as session:
        first, end = ask(session)
        again, end_again = ask(session)
        assert session.info.name == "smollm2-135m"
        assert session.info.kv_cells == 256
    assert first == again
    assert first.strip()
    assert end.usage.computed == end.usage.prompt
    assert end_again.usage.reused == {"ram": end.usage.prompt - 1}
    assert any(line.startswith("loading smollm2-135m") for line in progress)
    assert any(key.startswith("batch_costs") for key in remembered(home))


def test_a_stream_closed_early_cancels() -> None:
    with open_session(settings(), "smollm2-135m", selection=nothing()) as session:
        prompt = session.raw_tokens("Once upon a time")
        stream = session.stream(Request(prompt=prompt, max_tokens=200, ignore_end=True))
        next(stream)
        stream.close()
        unread = session.stream(Request(prompt=prompt, max_tokens=200, ignore_end=True))
        unread.close()
        assert ask(session, tokens=2)[1].usage.completion == 2
        assert session.worker.engine.running == []


def test_exact_shapes_are_measured_once(home: Path) -> None:
    exact = settings(("engine.exact", "true"), ("model.threads", "1"), ("engine.max_rows", "16"))
    answers, lines = [], []
    for _ in range(2):
        progress: list[str] = []
        with open_session(exact, "smollm2-135m", progress=progress.append, selection=nothing()) as session:
            answers.append(ask(session)[0])
            assert session.worker.engine.options.exact is not None
        lines.append([line for line in progress if "bit-identical" in line])
    assert answers[0] == answers[1]
    assert [len(found) for found in lines] == [1, 0]


def test_plugins_get_their_table_and_the_namespace_and_drafts_are_calibrated_for(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "drafty.py").write_text(PLUGIN)
    selection = PluginSelection(only=("drafty",), folder=folder)
    progress: list[str] = []
    configured = load_settings(
        [Flag("--x", "engine.extra_buffers", "off"), Flag("--c", "model.context_length", "256")],
        environment={"REAME_PLUGINS__DRAFTY__DEPTH": "3", "REAME_ENGINE__PARALLEL": "1"},
    )
    with open_session(configured, "smollm2-135m", progress=progress.append, selection=selection) as session:
        plain_text, _ = ask(session)
    printed = capsys.readouterr().out
    assert "'options': {'depth': 3}" in printed
    assert "'kv_cache_type': 'f16'" in printed
    assert any("kernels disagree" in line for line in progress)
    assert any(key.startswith("kernel_noise") for key in remembered(home))
    with open_session(settings(), "smollm2-135m", selection=nothing()) as session:
        assert ask(session)[0] == plain_text


def test_a_table_for_no_plugin_is_an_error() -> None:
    configured = load_settings([], environment={"REAME_PLUGINS__NOBODY__X": "1"})
    with (
        pytest.raises(PluginError, match="nobody"),
        open_session(configured, "smollm2-135m", selection=nothing()),
    ):
        pass


@pytest.mark.parametrize(
    ("model", "flags", "error", "words"),
    [
        ("smollm2-135n", [], UnknownModel, "smollm2-135m"),
        ("/nowhere/x.gguf", [], ModelError, "/nowhere"),
        ("smollm2-135m", [("model.context_length", "16000000")], NotEnoughMemory, "would fit"),
        ("smollm2-135m", [("engine.kv_cells", "128")], ConfigError, "engine.kv_cells is 128"),
        ("smollm2-135m", [("model.threads", "900")], ConfigError, "threads is 900"),
    ],
)
def test_what_the_user_can_mend(
    model: str, flags: list[tuple[str, str]], error: type[Exception], words: str
) -> None:
    with (
        pytest.raises(error, match=words) as caught,
        open_session(settings(*flags), model, selection=nothing()),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_a_context_beyond_the_trained_one_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.WARNING),
        open_session(settings(("model.context_length", "8448")), "smollm2-135m", selection=nothing()),
    ):
        pass
    assert "8192" in caplog.text


@pytest.mark.parametrize("kind", ["q8_0", "q4_0"])
def test_quantised_kv_cells(kind: str) -> None:
    with open_session(settings(("model.kv_cache_type", kind)), "smollm2-135m", selection=nothing()) as session:
        first, _ = ask(session)
        again, end = ask(session)
    assert first == again
    assert end.usage.computed == 1
