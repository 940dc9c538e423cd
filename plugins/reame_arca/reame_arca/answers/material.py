"""Everything that decides an answer, as bytes: equal bytes, equal answers. Without what was said last: equal
bytes, answers that differ by that alone.
"""

from __future__ import annotations

import json
from array import array
from dataclasses import fields
from typing import TYPE_CHECKING

from blake3 import blake3

from reame_arca.wishes import NAME
from reame_core.engine.request import Request, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_core.plugins.api import Question

NO_MATTER = frozenset({"reuse", "speculate", "background", "wave"})
"""Fields of a request that decide how fast an answer comes and not which."""
ELSEWHERE = frozenset(
    {"prompt", "max_tokens", "tenant", "constraint", "extra", "sampling", "sampling_by_choice"}
)
"""Those that are told apart: the tokens of the prompt; ``Question.room``; the space of the name; and, for the
constraint and for what plugins made of their fields, the fields themselves."""


def material_of(question: Question, *, seeded: bool) -> bytes | None:
    """None for an answer that chance decides, or something that cannot be written down. With ``seeded`` a seed
    rules out chance."""
    described = _decisive(question, seeded=seeded)
    if described is None:
        return None
    return _as_bytes({"room": question.room, **described}, question.request.prompt)


def rest_of(question: Question, rest: Sequence[int], *, seeded: bool) -> bytes | None:
    """Stands for all that decides an answer but the text of the last message: for the ``rest`` of the prompt
    and every setting. None for an answer that chance decides, or that is more than one plain text."""
    request = question.request
    described = _decisive(question, seeded=seeded)
    if described is None or described["fields"] or request.n != 1 or request.logprobs is not None:
        return None
    # The room depends on the length of the prompt; what a request asks for does not.
    material = _as_bytes({"max_tokens": request.max_tokens, **described}, rest)
    return None if material is None else blake3(material).digest()


def _decisive(question: Question, *, seeded: bool) -> dict[str, object] | None:
    request = question.request
    if request.select or request.background:
        return None
    if not all(_is_certain(sampling, seeded=seeded) for sampling in _samplings(request)):
        return None
    asked = {plugin: each for plugin, each in question.fields.items() if plugin != NAME}
    if request.constraint is not None and not asked:
        return None
    return {
        "exact": question.exact,
        "sampling": [_described(each) for each in _samplings(request)],
        "request": {
            each.name: _plain(getattr(request, each.name))
            for each in fields(Request)
            if each.name not in NO_MATTER | ELSEWHERE
        },
        # In the order in which they came: that of the properties of a schema is that of the answer.
        "fields": asked,
        "versions": {plugin: question.versions.get(plugin, "") for plugin in asked},
    }


def _as_bytes(described: dict[str, object], prompt: Sequence[int]) -> bytes | None:
    try:
        text = json.dumps(described, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode() + b"\n" + array("i", prompt).tobytes()
    except (TypeError, ValueError, OverflowError):
        return None


def _samplings(request: Request) -> tuple[SamplingParams, ...]:
    return request.sampling_by_choice or (request.sampling,)


def _is_certain(sampling: SamplingParams, *, seeded: bool) -> bool:
    return sampling.temperature == 0 or (seeded and sampling.seed is not None)


def _described(sampling: SamplingParams) -> dict[str, object]:
    described = {each.name: _plain(getattr(sampling, each.name)) for each in fields(SamplingParams)}
    if sampling.temperature == 0:
        # Nothing is drawn: the most probable token is the one, whatever the rest of them.
        for drawn in ("seed", "top_k", "top_p", "min_p"):
            del described[drawn]
    return described


def _plain(value: object) -> object:
    """As JSON can say it, in one way only."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, dict):
        return sorted(value.items())
    return value
