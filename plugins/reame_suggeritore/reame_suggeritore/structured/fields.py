"""Fields that say what the whole answer has to be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reame_core.errors import InvalidRequest
from reame_suggeritore.structured.grammar import Grammar, Schema, of_choice, of_regex, of_schema, of_text
from reame_suggeritore.structured.schema import checked

ANY_OBJECT: Schema = {"type": "object"}

TOOL_FIELDS = frozenset({"tools", "tool_choice", "parallel_tool_calls"})
REPLACED_FIELDS = {"functions": "tools", "function_call": "tool_choice"}


@dataclass(frozen=True, slots=True)
class Wish:
    """What one field asks for."""

    field: str
    grammar: Grammar
    schema: Schema | None = None
    """Where it is JSON."""


def read_answer(fields: Mapping[str, object]) -> Wish | None:
    """What the answer has to be. Raises InvalidRequest, also where several fields say that."""
    present = [name for name in _READERS if name in fields]
    if len(present) > 1:
        raise InvalidRequest(
            f"{present[0]} and {present[1]} cannot both say what the answer has to be", param=present[1]
        )
    return _READERS[present[0]](fields[present[0]], present[0]) if present else None


def _json(value: object, param: str) -> Wish:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise InvalidRequest(f"{param} is no JSON", param=param) from None
    schema = checked(value, param)
    return Wish(param, of_schema(schema, param), schema)


def _response_format(value: object, param: str) -> Wish:
    assert isinstance(value, Mapping)  # the server has looked at its type
    if value["type"] == "json_object":
        # llama-server's clients put a schema here
        return _json(value["schema"], f"{param}.schema") if value.get("schema") else _json(ANY_OBJECT, param)
    form = value.get("json_schema")
    if not isinstance(form, Mapping):
        raise InvalidRequest(f"{param}.json_schema must be an object", param=f"{param}.json_schema")
    if not isinstance(form.get("schema"), Mapping):
        raise InvalidRequest(
            f"{param}.json_schema.schema must be a JSON schema, which is an object",
            param=f"{param}.json_schema.schema",
        )
    return _json(form["schema"], f"{param}.json_schema.schema")


def _text(value: object, param: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"{param} must be a text", param=param)
    return value


def _regex(value: object, param: str) -> Wish:
    return Wish(param, of_regex(_text(value, param), param))


def _grammar(value: object, param: str) -> Wish:
    return Wish(param, of_text(_text(value, param), param))


def _choice(value: object, param: str) -> Wish:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) and text for text in value):
        raise InvalidRequest(f"{param} must be a list of texts", param=param)
    return Wish(param, of_choice(value, param))


_KINDS: dict[str, Callable[[object, str], Wish]] = {
    "json": _json,
    "regex": _regex,
    "choice": _choice,
    "grammar": _grammar,
}


def _structured_outputs(value: object, param: str) -> Wish:
    """vLLM's object: one of ``_KINDS``, or ``json_object``."""
    given = dict(value) if isinstance(value, Mapping) else {}
    given = {key: inner for key, inner in given.items() if inner is not None}
    if given.get("json_object") is True and len(given) == 1:
        return _json(ANY_OBJECT, param)
    kind = next(iter(given), "")
    if len(given) != 1 or kind not in _KINDS:
        raise InvalidRequest(f"{param} must be an object with one of {', '.join(_KINDS)}", param=param)
    return _KINDS[kind](given[kind], f"{param}.{kind}")


_READERS: dict[str, Callable[[object, str], Wish]] = {
    "response_format": _response_format,
    "json_schema": _json,
    "regex": _regex,
    "grammar": _grammar,
    "reame.json_schema": _json,
    "reame.regex": _regex,
    "reame.grammar": _grammar,
    "structured_outputs": _structured_outputs,
    **{f"guided_{kind}": read for kind, read in _KINDS.items()},
}
ANSWER_FIELDS = frozenset(_READERS)
