"""Whatever a schema says, every complete answer obeys it, however the tokens are drawn."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from hypothesis import given

from plugins.reame_suggeritore.tests.structured.schemas import checker, schemas
from plugins.reame_suggeritore.tests.structured.support import (
    constrained,
    hooks_of,
    json_format,
    sampled_at,
    served,
)
from reame_core.testing import FakeBackend
from tests.engine.support import engine_on, play, thorough


def test_complete_answers_obey_their_schema() -> None:
    engine = engine_on(FakeBackend(cells=2048, end_bias=2.0), hooks_of(), context_length=512, max_draft=8)
    formats = checker()
    complete = 0

    @thorough(500)
    @given(schemas())
    def check(schema: dict[str, Any]) -> None:
        nonlocal complete
        service = served(response_format=json_format(schema))
        request = constrained(service, f"number {complete}", sampling=sampled_at(1.5, complete))
        [answer] = play(engine, request)[0]
        assert answer.error is None
        if answer.reason == "stop":
            value = json.loads(answer.text)
            kind = jsonschema.Draft202012Validator
            jsonschema.validate(value, schema, cls=kind, format_checker=formats)
            complete += 1

    check()
    assert complete > 300, "else it has looked at too little"
