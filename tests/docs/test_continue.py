"""The configuration for Continue.dev: its models are asked what that program's providers ask."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import yaml

from tests.docs.pages import SERVER, Block, in_language


@pytest.mark.parametrize("block", in_language("yaml"), ids=str)
def test_yaml(block: Block, server: str) -> None:
    """It can be read, and its models answer."""
    document = yaml.safe_load(block.text)
    assert isinstance(document, dict)
    if "models" in document:
        assert {"name", "version", "schema"} <= document.keys()
        roles = [role for model in document["models"] for role in ask_as_continue(model, server)]
        assert {"chat", "edit", "apply", "autocomplete"} <= set(roles)


def ask_as_continue(model: dict[str, Any], server: str) -> list[str]:
    """One request of a model of ``config.yaml``; the roles it was for."""
    assert {"name", "provider", "model", "apiBase", "roles"} <= model.keys()
    assert model["apiBase"].startswith(f"{SERVER}/")
    wishes = model["defaultCompletionOptions"]
    body: dict[str, Any] = {"model": model["model"], "max_tokens": wishes["maxTokens"], "stream": True}
    body |= {"temperature": wishes["temperature"], **({"stop": wishes["stop"]} if "stop" in wishes else {})}
    match model["provider"]:
        case "openai":
            path, body["messages"] = "chat/completions", [{"role": "user", "content": "Name a fish."}]
        case "siliconflow":
            path, body["prompt"], body["suffix"] = (
                "completions",
                "def add(a, b):\n    return ",
                "\n\nprint(1)\n",
            )
        case other:
            raise AssertionError(f"what {other} asks is not known")
    address = httpx.URL(model["apiBase"].replace(SERVER, server)).join(path)
    headers = {"Authorization": f"Bearer {model['apiKey']}"}
    answer = httpx.post(address, json=body, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    *events, end = [
        line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")
    ]
    assert end == "[DONE]"
    assert events
    assert all(len(json.loads(event)["choices"]) == 1 for event in events)
    return list(model["roles"])
