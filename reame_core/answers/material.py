"""Everything that decides an answer, as bytes: equal bytes, equal answers."""

from __future__ import annotations

import json
from array import array
from dataclasses import fields
from importlib.metadata import version
from typing import TYPE_CHECKING

from reame_core.engine.request import Request, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reame_core.plugins.api import Question

NO_MATTER = frozenset({"reuse", "speculate", "background", "wave"})
"""Fields of a request that decide how fast an answer comes and not which."""
ELSEWHERE = frozenset(
    {"prompt", "max_tokens", "tenant", "constraint", "extra", "sampling", "sampling_by_choice"}
)
"""Those that are told apart: the tokens of the prompt; ``Question.room``; the space of the name; and, for the
constraint and for what plugins made of their fields, the fields themselves."""
_LAYOUT = ("weight_buffers", "flash_attention")
"""Of a model's namespace: what each host tries out for itself. Outside exact mode an answer may be computed in
any batch shape, and by any of these."""


def scope_of(namespace: Mapping[str, str], *, exact: bool) -> dict[str, str]:
    """What answers depend on beside the question, of ``PluginContext.namespace``, and on Reame itself: what
    it makes of logits may change."""
    decisive = {key: each for key, each in namespace.items() if exact or key not in _LAYOUT}
    return {**decisive, "reame": version("reame")}


def material_of(question: Question, *, keeper: str, seeded: bool) -> bytes | None:
    """None for an answer that chance decides, or something that cannot be written down. With ``seeded`` a seed
    rules out chance. What the plugin ``keeper``, who asks, is told by the request decides nothing."""
    described = decisive(question, keeper=keeper, seeded=seeded)
    if described is None:
        return None
    return written({"room": question.room, **described}, question.request.prompt)


def decisive(question: Question, *, keeper: str, seeded: bool) -> dict[str, object] | None:
    """All of it but the tokens of the prompt and the room for the answer, as JSON values; else as
    ``material_of``."""
    request = question.request
    if request.select or request.background:
        return None
    if not all(_is_certain(sampling, seeded=seeded) for sampling in _samplings(request)):
        return None
    asked = {plugin: each for plugin, each in question.fields.items() if plugin != keeper}
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
        "endpoint": question.endpoint if asked else "",
        "versions": {plugin: question.versions.get(plugin, "") for plugin in asked},
    }


def written(described: Mapping[str, object], prompt: Sequence[int]) -> bytes | None:
    """In one way only; None for what JSON cannot say."""
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
