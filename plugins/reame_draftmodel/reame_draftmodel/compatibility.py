"""Whether two models mean the same by each token id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reame_core.errors import ConfigError
from reame_core.plugins.api import ModelInfo


@dataclass(frozen=True, slots=True)
class Speech:
    """A model's vocabulary. ``tokenizer`` is equal for equal ones, and empty where that is not known."""

    info: ModelInfo
    tokenizer: str
    piece: Callable[[int], bytes]

    @property
    def description(self) -> str:
        """For messages: the model and its vocabulary."""
        kind = f"{self.info.vocabulary_type} " if self.info.vocabulary_type else ""
        return f"{self.info.name} ({kind}vocabulary of {self.info.vocabulary_size} tokens)"


def check_compatible(target: Speech, draft: Speech, setting: str) -> None:
    """Raise a ConfigError that names both vocabularies and where they differ.

    One may have more tokens than the other, as those of a family often do: where they overlap, token by token,
    they have to be the same. ``setting`` is what the user has to change."""
    if difference := _difference(target, draft):
        raise ConfigError(
            f"{setting}: {draft.description} cannot draft for {target.description}: {difference}; "
            "choose a model of the same family"
        )


def _difference(target: Speech, draft: Speech) -> str:
    if target.info.vocabulary_type != draft.info.vocabulary_type:
        return "they cut text into tokens in different ways"
    if target.tokenizer and target.tokenizer == draft.tokenizer:
        return ""
    theirs, ours = (_special_texts(each.info) for each in (target, draft))
    for token in range(min(target.info.vocabulary_size, draft.info.vocabulary_size)):
        wanted = theirs.get(token) or target.piece(token)
        found = ours.get(token) or draft.piece(token)
        if wanted != found:
            return f"token {token} is {_shown(wanted)} for the one and {_shown(found)} for the other"
    return ""


def _special_texts(info: ModelInfo) -> dict[int, bytes]:
    """Control tokens have no piece, but a text."""
    return {token: text.encode() for text, token in info.special_tokens.items()}


def _shown(piece: bytes) -> str:
    return repr(piece.decode(errors="backslashreplace"))
