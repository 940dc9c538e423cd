"""Structured output of a real model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from reame_suggeritore import Suggeritore

from plugins.reame_suggeritore.tests.structured.schemas import checker, schemas
from plugins.reame_suggeritore.tests.structured.support import json_format
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request, SamplingParams
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.models.catalogue import resolve
from reame_core.models.chat_template import ChatTemplate
from reame_core.models.prompt import chat_tokens
from reame_core.plugins.api import ApiRequest, PluginContext
from tests.engine.support import Answer, Answers, hook

pytestmark = pytest.mark.model
CONTEXT = 384


@pytest.fixture(scope="module")
def backend() -> Iterator[LlamaBackend]:
    path: Path = resolve("smollm2-135m").path
    backend = LlamaBackend(path, LlamaOptions(kv_cells=2048, threads=1, max_rows=63, max_outputs=63))
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def plugin(backend: LlamaBackend) -> Suggeritore:
    plugin = Suggeritore()
    plugin.startup(PluginContext(backend.info, {}, piece=backend.piece, tokenize=backend.tokenize))
    return plugin


class Asked:
    """One engine, asked for structure."""

    def __init__(self, backend: LlamaBackend, plugin: Suggeritore, *, drafts: bool) -> None:
        hooks = EngineHooks(propose_draft=hook(plugin.propose_draft, name="suggeritore"))
        options = EngineOptions(context_length=CONTEXT, parallel=4, price_drafts=False, max_draft=16)
        backend.clear()
        self.backend = backend
        self.plugin = plugin
        self.engine = Engine(backend, options, hooks if drafts else None)

    def request(self, text: str, sampling: SamplingParams, max_tokens: int, **fields: Any) -> Request:
        service = self.plugin.serve_fields(ApiRequest("chat", fields, 1, False))
        assert service is not None
        template = ChatTemplate.for_model(self.backend.info)
        messages = [{"role": "user", "content": text}]
        prompt = chat_tokens(self.backend, template, messages)
        return Request(prompt=prompt, max_tokens=max_tokens, sampling=sampling, constraint=service.constraint)

    def answers(self, *requests: Request) -> list[Answer]:
        heard = [Answers(request) for request in requests]
        for request, sink in zip(requests, heard, strict=True):
            self.engine.submit(request, sink)
        while not self.engine.idle:
            self.engine.step()
        return [answer for sink in heard for answer in sink]


def test_sixty_schemas_at_a_high_temperature(backend: LlamaBackend, plugin: Suggeritore) -> None:
    asked = Asked(backend, plugin, drafts=True)
    drawn: list[dict[str, Any]] = []

    @settings(
        max_examples=60,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(schemas())
    def draw(schema: dict[str, Any]) -> None:
        drawn.append(schema)

    draw()
    requests = [
        asked.request(
            "Answer in JSON.",
            SamplingParams(temperature=1.5, seed=seed),
            48,
            response_format=json_format(schema),
        )
        for seed, schema in enumerate(drawn)
    ]
    formats, complete = checker(), 0
    for schema, answer in zip(drawn, asked.answers(*requests), strict=True):
        assert answer.error is None
        if answer.reason == "stop":
            kind = jsonschema.Draft202012Validator
            jsonschema.validate(json.loads(answer.text), schema, cls=kind, format_checker=formats)
            complete += 1
    assert len(drawn) == 60
    assert complete > 25


INVOICE = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string", "maxLength": 30},
        "number": {"type": "string", "maxLength": 12},
        "total": {"type": "integer", "minimum": 0, "maximum": 10000},
        "currency": {"enum": ["EUR", "USD"]},
    },
    "required": ["vendor", "number", "total", "currency"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("temperature", [0, 0.8])
def test_drafts_change_no_token(backend: LlamaBackend, plugin: Suggeritore, temperature: float) -> None:
    text = "Vendor: Rossi Forniture. Number: RF-117. Total: 180 EUR. Extract as JSON."
    said = []
    for drafts in (False, True):
        asked = Asked(backend, plugin, drafts=drafts)
        sampling = SamplingParams(temperature=temperature, seed=7)
        [answer] = asked.answers(asked.request(text, sampling, 100, response_format=json_format(INVOICE)))
        said.append(answer.said)
    assert said[0] == said[1]
    assert answer.usage.accepted > 10
    assert json.loads(answer.text).keys() == INVOICE["properties"].keys()  # type: ignore[attr-defined]


def test_a_small_model_does_not_lose_itself_in_white_space(backend: LlamaBackend, plugin: Suggeritore) -> None:
    # case 91
    asked = Asked(backend, plugin, drafts=True)
    requests = [
        asked.request(
            "Give an example object.", SamplingParams(temperature=temperature, seed=seed), 60, **fields
        )
        for seed, temperature in enumerate([0, 1, 1, 1])
        for fields in ({"response_format": {"type": "json_object"}}, {"response_format": json_format(INVOICE)})
    ]
    for answer in asked.answers(*requests):
        outside_strings = "".join(answer.text.split('"')[::2])
        assert "  " not in outside_strings
        assert "\n" not in outside_strings
        if answer.reason == "stop":
            assert answer.text.endswith("}")
            json.loads(answer.text)


def test_tools_in_the_default_form(backend: LlamaBackend, plugin: Suggeritore) -> None:
    asked = Asked(backend, plugin, drafts=True)
    weather = {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Rome", "Oslo"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    }
    fields = {"tools": [{"type": "function", "function": weather}], "tool_choice": "required"}
    sampling = SamplingParams(temperature=1.0, seed=1)
    [answer] = asked.answers(
        asked.request("Weather in Rome?", sampling, 60, parallel_tool_calls=False, **fields)
    )
    assert answer.reason == "stop"
    assert answer.text.startswith('<tool_call>\n{"name": "weather", "arguments": {"city": "')
    assert answer.text.endswith("}\n</tool_call>")
