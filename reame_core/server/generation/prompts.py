"""The prompts of /v1/completions, in all forms the API has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from reame_core.errors import InvalidRequest
from reame_core.models.prompt import raw_tokens

if TYPE_CHECKING:
    from reame_core.engine.backend import Backend
    from reame_core.server.state import ServedModel


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt as tokens. ``text`` is what an echo repeats."""

    tokens: tuple[int, ...]
    text: str


def completion_prompts(model: ServedModel, prompt: str | list[Any], suffix: str | None) -> list[Prompt]:
    """A text, token ids, or a list of either. Raises InvalidRequest."""
    backend = model.worker.engine.backend
    single = partial(_prompt, backend) if suffix is None else _fill_in_middle(backend, suffix)
    if isinstance(prompt, str):
        return [single(prompt, "prompt")]
    if not prompt:
        raise InvalidRequest("prompt is empty: give at least one token of text", param="prompt")
    if all(_is_number(item) for item in prompt):
        return [single(prompt, "prompt")]
    return [single(item, f"prompt[{index}]") for index, item in enumerate(prompt)]


def _prompt(backend: Backend, value: Any, name: str) -> Prompt:
    if isinstance(value, str):
        tokens = raw_tokens(backend, value)
        if not tokens:
            raise InvalidRequest(f"{name} is empty: give at least one character of text", param=name)
        return Prompt(tokens, value)
    if not isinstance(value, list):
        raise InvalidRequest(f"{name} must be a text or a list of token ids", param=name)
    if not value:
        raise InvalidRequest(f"{name} is empty: give at least one token", param=name)
    tokens = tuple(_token(item, name) for item in value)
    size = backend.info.vocabulary_size
    if min(tokens) < 0 or max(tokens) >= size:
        raise InvalidRequest(f"{name} holds token ids outside 0 to {size - 1}", param=name)
    return Prompt(tokens, text_of(backend, tokens))


def _fill_in_middle(backend: Backend, suffix: str) -> Callable[[Any, str], Prompt]:
    marks = backend.info.fill_in_middle
    if marks is None:
        raise InvalidRequest(
            f"suffix is not supported: {backend.info.name} has no tokens for filling in the middle",
            param="suffix",
        )
    before, after, middle = marks
    beginning = _beginning(backend)
    behind = raw_tokens(backend, suffix)[len(beginning) :]

    def prompt(value: Any, name: str) -> Prompt:
        if not isinstance(value, str):
            raise InvalidRequest(f"{name} must be a text where there is a suffix", param=name)
        ahead = raw_tokens(backend, value)[len(beginning) :]
        return Prompt((*beginning, before, *ahead, after, *behind, middle), value)

    return prompt


def _beginning(backend: Backend) -> tuple[int, ...]:
    info = backend.info
    return (info.bos,) if info.adds_bos and info.bos is not None else ()


def text_of(backend: Backend, tokens: tuple[int, ...]) -> str:
    """The text of ``tokens``; control tokens have none."""
    return b"".join(backend.piece(token) for token in tokens).decode(errors="replace")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _token(value: Any, name: str) -> int:
    if not _is_number(value) or value != int(value):
        raise InvalidRequest(f"{name} must hold token ids, which are whole numbers", param=name)
    return int(value)
