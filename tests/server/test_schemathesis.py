"""Requests made from our own OpenAPI document, right and wrong ones: no 5xx, no hang, answers as described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

from reame_core.testing import FakeBackend
from tests.server.support import FakeModel, Running, running

schemathesis = pytest.importorskip("schemathesis")

TIMEOUT = 10.0
"""Seconds for one answer."""
MODES = schemathesis.GenerationMode


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(FakeModel(FakeBackend(cells=2048), context_length=96)) as server:
        yield server


@pytest.fixture(scope="module")
def document(server: Running) -> Any:
    return schemathesis.openapi.from_url(f"{server.url}/schema")


def checks() -> list[Any]:
    module = schemathesis.checks
    names = (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "response_headers_conformance",
    )
    return [getattr(module, name) for name in names]


# Through Hypothesis, as schemathesis' own pytest plugin does not know the newest pytest.
@pytest.mark.parametrize("mode", [MODES.POSITIVE, MODES.NEGATIVE], ids=["right", "wrong"])
def test_every_operation(server: Running, document: Any, mode: Any) -> None:
    operations = [result.ok() for result in document.get_all_operations()]
    assert len(operations) >= 11
    for operation in operations:
        if mode is MODES.NEGATIVE and not operation.body:
            continue  # nothing to get wrong

        @hypothesis.settings(
            max_examples=25,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        )
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        def check(case: Any) -> None:
            case.call_and_validate(timeout=TIMEOUT, checks=checks())

        check()
    server.wait_until_idle()
    assert server.chat("Say hi", max_tokens=2).status_code == 200
