"""The table ``[plugins.conclave]`` and the object ``reame.conclave`` of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from reame_conclave.judges.answer import Judge
from reame_conclave.judges.json_value import JsonField
from reame_conclave.judges.pattern import Pattern
from reame_conclave.judges.registry import JUDGES
from reame_conclave.rules import Rules
from reame_conclave.stopping import Agreement, Beta, Majority, Never, StopRule, Window
from reame_core.errors import InvalidRequest
from reame_core.plugins.names import did_you_mean, listing

FIELD = "reame.conclave"
"""The name of the object among the fields of a request."""
MOST = 128
"""Candidates; the core's own limit of choices."""

Candidates = Annotated[int, Meta(ge=1, le=MOST)]
Temperature = Annotated[float, Meta(ge=0, le=10)]
Spread = Temperature | Annotated[list[Temperature], Meta(min_length=2, max_length=2)]
Share = Annotated[float, Meta(ge=0, le=1)]
Confidence = Annotated[float, Meta(gt=0.5, lt=1)]
JudgeName = Literal["auto", "marker", "number", "choice", "json", "text", "prose"]
StopName = Literal["majority", "beta", "window", "never"]


class ConclaveOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds where a request says nothing; see docs/conclave.md."""

    n: Candidates = 5
    max_n: Candidates = 16
    """Most candidates that a request may ask for."""
    temperature: Spread = msgspec.field(default_factory=lambda: [0.5, 0.9])
    judge: JudgeName = "auto"
    stop: StopName = "majority"
    min_consensus: Share | None = None


class Wishes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``reame.conclave`` of a request; None stands for what was not said."""

    n: Candidates | None = None
    temperature: Spread | None = None
    judge: JudgeName | None = None
    pattern: Annotated[str, Meta(min_length=1)] | None = None
    field: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    stop: StopName | None = None
    confidence: Confidence | None = None
    window: Annotated[int, Meta(ge=1, le=MOST)] | None = None
    min_consensus: Share | None = None
    candidates: bool | None = None


def read_rules(value: object, options: ConclaveOptions) -> Rules:
    """What ``reame.conclave`` asks for, an object or just the number of candidates. Raises InvalidRequest,
    which names the field."""
    wishes = _wishes(value)
    n = min(options.n, options.max_n) if wishes.n is None else wishes.n
    if n > options.max_n:
        raise InvalidRequest(f"{FIELD}.n must be from 1 to {options.max_n}, not {n}", param=f"{FIELD}.n")
    low, high = _spread(options.temperature if wishes.temperature is None else wishes.temperature)
    share = options.min_consensus if wishes.min_consensus is None else wishes.min_consensus
    rule = _rule(wishes, options, n)
    return Rules(
        candidates=n,
        coolest=low,
        hottest=high,
        judge=_judge(wishes, options),
        stop=rule if share is None else Agreement(rule, share),
        wave=wishes.window or (rule.size if isinstance(rule, Window) else None),
        min_consensus=share,
        show_candidates=bool(wishes.candidates),
    )


def _wishes(value: object) -> Wishes:
    if isinstance(value, int) and not isinstance(value, bool):
        value = {"n": value}
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{FIELD} must be an object, or the number of candidates", param=FIELD)
    said: dict[str, Any] = {name: each for name, each in value.items() if each is not None}
    for name in said:
        if name not in Wishes.__struct_fields__:
            guess = did_you_mean(name, Wishes.__struct_fields__)
            raise InvalidRequest(
                f"{FIELD} has no field {name!r}{guess} (there are: {listing(Wishes.__struct_fields__)})",
                param=f"{FIELD}.{name}",
            )
    try:
        return msgspec.convert(said, Wishes)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), said) from None


_EXPECTED = {
    "n": f"a whole number from 1 to {MOST}",
    "temperature": "a number from 0 to 10, or the lowest and the highest of them in a list",
    "judge": f"one of {listing(JUDGES)}",
    "pattern": "a text",
    "field": "the path of a field, such as answer",
    "stop": "one of majority, beta, window, never",
    "confidence": "a number between 0.5 and 1",
    "window": f"a whole number from 1 to {MOST}",
    "min_consensus": "a share from 0 to 1",
    "candidates": "true or false",
}


def _refusal(message: str, said: Mapping[str, Any]) -> InvalidRequest:
    name = message.rpartition("`$.")[2].partition("`")[0].partition("[")[0]
    guess = did_you_mean(said[name], JUDGES) if name == "judge" and isinstance(said[name], str) else ""
    shown = repr(said[name])
    shown = shown if len(shown) <= 80 else shown[:79] + "…"
    return InvalidRequest(
        f"{FIELD}.{name} must be {_EXPECTED[name]}, not {shown}{guess}", param=f"{FIELD}.{name}"
    )


def _spread(temperature: float | list[float]) -> tuple[float, float]:
    if isinstance(temperature, list):
        low, high = temperature
        if low > high:
            raise InvalidRequest(
                f"{FIELD}.temperature must begin with the lower one, not {temperature}",
                param=f"{FIELD}.temperature",
            )
        return low, high
    return temperature, temperature


def _judge(wishes: Wishes, options: ConclaveOptions) -> Judge:
    named = {"judge": wishes.judge, "pattern": wishes.pattern, "field": wishes.field}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise InvalidRequest(
            f"{FIELD}.{given[0]} and {FIELD}.{given[1]} are two judges: name one", param=f"{FIELD}.{given[1]}"
        )
    if wishes.pattern is not None:
        return Pattern(wishes.pattern, f"{FIELD}.pattern")
    if wishes.field is not None:
        return JsonField(wishes.field)
    return JUDGES[wishes.judge or options.judge]()


def _rule(wishes: Wishes, options: ConclaveOptions, n: int) -> StopRule:
    name = wishes.stop or options.stop
    if wishes.confidence is not None and name != "beta":
        raise InvalidRequest(
            f'{FIELD}.confidence belongs to "stop": "beta", not to {name!r}', param=f"{FIELD}.confidence"
        )
    if name == "beta":
        return Beta() if wishes.confidence is None else Beta(wishes.confidence)
    if name == "window":
        return Window(min(wishes.window or Window().size, n))
    return Majority() if name == "majority" else Never()
