"""A real model drafts for a real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reame_core.config import Settings
from reame_core.config.schema import Config, EngineSettings, ModelSettings, PluginSettings
from reame_core.engine.events import Failed, Finished, TextDelta
from reame_core.engine.request import Request, SamplingParams
from reame_core.models.catalogue import resolve
from reame_core.plugins.selection import PluginSelection
from reame_core.session import Session, open_session
from tests.model.tiny_models import write_mamba

pytestmark = pytest.mark.model

QUESTIONS = ("Name three colours.", "What is the capital of France?", "Count to ten.", "Describe a cat.")


def told(session: Session, requests: list[Request]) -> list[tuple[tuple[int, ...], Finished]]:
    """(tokens, last event) of each, all submitted at once."""
    answers = []
    for stream in [session.stream(request) for request in requests]:
        tokens: list[int] = []
        for event in stream:
            assert not isinstance(event, Failed)
            if isinstance(event, TextDelta):
                tokens += event.tokens
            if isinstance(event, Finished):
                answers.append((tuple(tokens), event))
    return answers


def test_greedy_answers_are_the_same_with_a_draft_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One thread and SmolLM2: batches of any size up to 63 rows are bit-identical. It drafts for itself."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = str(resolve("smollm2-135m").path)
    settings = Settings(
        Config(
            model=ModelSettings(threads=1, context_length=512),
            engine=EngineSettings(
                parallel=4, extra_buffers="off", flash_attention="on", max_rows=63, max_draft=24
            ),
            plugins=PluginSettings(tables={"draftmodel": {"model": path, "p_min": 0.0}}),
        )
    )
    selection = PluginSelection(only=("draftmodel",), strict=True)
    with open_session(settings, path, selection=selection) as session:
        engine = session.worker.engine
        assert engine.speculation.computed.sources == ("draftmodel",)
        # The model is as dear as its draft: it would never be asked.
        engine.speculation.priced = engine.speculation.computed.priced = False

        def requests(**fields: object) -> list[Request]:
            prompts = [session.chat_tokens([{"role": "user", "content": each}]) for each in QUESTIONS]
            return [Request(prompt=prompt, max_tokens=24, reuse=False, **fields) for prompt in prompts]  # type: ignore[arg-type]

        plain = [told(session, [request])[0][0] for request in requests(speculate=False)]
        alone = [told(session, [request])[0] for request in requests()]
        together = told(session, requests())
        assert [tokens for tokens, _ in alone] == plain
        assert [tokens for tokens, _ in together] == plain
        for _, finished in (*alone, *together):
            drafted, accepted = finished.usage.drafts["draftmodel"]
            assert accepted >= 0.7 * drafted, "a model agrees with itself"
        drawn = told(session, requests(sampling=SamplingParams(temperature=0.8, top_p=0.9)))
        shares = [accepted / drafted for _, f in drawn for drafted, accepted in f.usage.drafts.values()]
        assert min(shares) > 0.5, "p and q are nearly the same distribution"


def test_case_42_an_unfit_draft_model_ends_the_start_with_exit_code_2(tmp_path: Path) -> None:
    draft = write_mamba(tmp_path / "tiny.gguf")
    settings = {
        "REAME_PLUGINS__DRAFTMODEL__MODEL": str(draft),
        "REAME_ENGINE__EXTRA_BUFFERS": "off",
        "XDG_STATE_HOME": str(tmp_path),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "reame_core", "run", "smollm2-135m", "Hello", "--max-tokens", "1"],
        env=os.environ | settings,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 2, ran.stderr
    [line] = [each for each in ran.stderr.splitlines() if "cannot draft for" in each]
    assert "plugins.draftmodel.model: " in line
    assert "vocabulary of 49152 tokens" in line
    assert "Traceback" not in ran.stderr
