"""Other programs that speak the OpenAI API, and the shapes of requests that were seen from some."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.support import Running, content_of

CHAT = "/v1/chat/completions"


def llm_tool() -> str | None:
    return shutil.which("llm", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


@pytest.mark.skipif(llm_tool() is None, reason="the command llm is not installed")
@pytest.mark.parametrize("stream", [True, False])
def test_the_llm_command(shared: Running, tmp_path: Path, stream: bool) -> None:
    environment = os.environ | {"LLM_USER_PATH": str(tmp_path), "OPENAI_API_KEY": "none"}
    command = [str(llm_tool()), "openai", "endpoint", f"{shared.url}/v1", "-m", "fake", "Say hi"]
    command += ["-o", "temperature", "0", *([] if stream else ["--no-stream"])]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "Hello there!"), done.stderr


def test_langchain(shared: Running) -> None:
    langchain_openai = pytest.importorskip("langchain_openai")
    model = langchain_openai.ChatOpenAI(
        base_url=f"{shared.url}/v1", api_key="none", model="fake", temperature=0, stream_usage=True
    )
    answer = model.invoke("Say hi")
    assert answer.content == "Hello there!"
    assert answer.usage_metadata["input_tokens"] > 0
    chunks = list(model.stream("Say hi"))
    assert "".join(str(chunk.content) for chunk in chunks) == "Hello there!"
    assert any(chunk.usage_metadata for chunk in chunks)


def test_the_shape_of_continue_in_a_chat(shared: Running) -> None:
    body = {
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": [{"type": "text", "text": "Say hi"}]},
        ],
        "model": "fake",
        "max_tokens": 2048,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    chunks = shared.chunks(CHAT, body)
    assert content_of(chunks) == "Hello there!"
    with_usage = [chunk for chunk in chunks if chunk.get("usage")]  # it looks for truth, not for the key
    assert len(with_usage) == 1


def test_the_shape_of_continue_completing_code(shared: Running) -> None:
    body = {
        "prompt": "def add(a, b):\n    ",
        "model": "fake",
        "max_tokens": 12,
        "temperature": 0.01,
        "stop": ["\n\n", "/src/", "#- coding: utf-8", "```"],
        "stream": True,
    }
    chunks = shared.chunks("/v1/completions", body)
    assert all(len(chunk["choices"]) == 1 for chunk in chunks)


def test_the_shape_of_open_webui(shared: Running) -> None:
    assert [model["id"] for model in shared.http.get("/v1/models").json()["data"]] == ["fake"]
    body: dict[str, Any] = {
        "stream": True,
        "model": "fake",
        "messages": [{"role": "user", "content": "Say hi"}],
        "temperature": None,
        "stop": None,
        "stream_options": {"include_usage": True},
        "metadata": {"chat_id": "x"},
        "features": {"web_search": False},
        "session_id": "s",
        "background_tasks": {"title_generation": True},
    }
    assert shared.chunks(CHAT, body)[-1]["usage"]["total_tokens"] > 0
    title = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
    assert shared.http.post(CHAT, json=title | {"max_completion_tokens": 10}).json()["usage"]
