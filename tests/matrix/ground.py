"""What the matrix stands on: the fake backend, or a real model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugins.reame_draftmodel.tests.support import Mumbling, second_model
from reame_core.engine.backend import Backend
from reame_core.engine.engine import Engine
from reame_core.engine.exactness import ExactShapes
from reame_core.engine.request import Request
from reame_core.plugins.api import PluginContext, SecondModel
from reame_core.testing import FakeBackend
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import check_memory, words

if TYPE_CHECKING:
    from tests.engine.support import Answers
    from tests.matrix.world import Setup

SHARED = 40
"""Tokens that all prompts of the matrix begin with."""
_LIST = " As a list:"


class Ground(ABC):
    """Makes backends, prompts and contexts of plugins."""

    max_rows: int
    exact: ExactShapes
    answer = 20
    """Tokens of an answer."""

    def __init__(self) -> None:
        self.answers: dict[str, Answers] = {}
        """Of the plain path, by what was asked."""

    @abstractmethod
    def backend(self, setup: Setup, *, apart: bool = False) -> Backend:
        """A backend with nothing in its memory. ``apart``: another one than the world's own."""

    @abstractmethod
    def prompt(self, number: int) -> tuple[int, ...]:
        """Another one for each ``number``; all begin alike."""

    @abstractmethod
    def for_a_list(self, request: Request) -> Request:
        """``request``, changed so that its answer is a numbered list."""

    @abstractmethod
    def context(
        self, backend: Backend, options: Mapping[str, object], namespace: Mapping[str, str]
    ) -> PluginContext: ...

    @abstractmethod
    def check(self, engine: Engine) -> None:
        """No cell has leaked."""

    def request(self, number: int) -> Request:
        return Request(prompt=self.prompt(number), max_tokens=self.answer, ignore_end=True)


class Quantised(FakeBackend):
    """Cells of another type hold other values: none of them may pass for the usual ones."""

    def _value(self, cell: int, attended: Any) -> Any:
        return super()._value(cell, attended) ^ np.uint64(0x5A5A)


class FakeGround(Ground):
    max_rows = 64
    exact = ExactShapes(2, 16)

    def backend(self, setup: Setup, *, apart: bool = False) -> FakeBackend:
        kind = FakeBackend if setup.kv_type == "f16" else Quantised
        # Exact mode promises the order of cells, so only there it may count.
        return kind(
            cells=setup.cells + (8 if setup.exact else 0),
            max_sequences=40,
            order_matters=setup.exact,
            replies={_LIST: "1. oak\n2. elm\n3. ash\n4. fir\n"} if setup.lists else None,
        )

    def prompt(self, number: int) -> tuple[int, ...]:
        return (*words(SHARED), *words(25 + 3 * number, 900 + number)[1:])

    def for_a_list(self, request: Request) -> Request:
        return replace(request, prompt=(*request.prompt, *vocabulary.tokenize(_LIST)))

    def context(
        self, backend: Backend, options: Mapping[str, object], namespace: Mapping[str, str]
    ) -> PluginContext:
        def opener(model: str, **wishes: object) -> SecondModel:
            # Right most of the time, as a good draft model is.
            return second_model(Mumbling(5, cells=1024, max_sequences=34))

        return PluginContext(
            backend.info,
            options,
            namespace,
            "matrix",
            backend.piece,
            backend.tokenize,
            opener,  # type: ignore[arg-type]
        )

    def check(self, engine: Engine) -> None:
        check_memory(engine)
