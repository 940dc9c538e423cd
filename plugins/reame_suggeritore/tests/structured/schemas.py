"""Random JSON schemas of what clients use: nested, enum, pattern, anyOf, $ref, bounds, formats, Unicode."""

from __future__ import annotations

import functools
import ipaddress
import re
import uuid
from datetime import date
from typing import Any

import jsonschema
from hypothesis import strategies as st

Schema = dict[str, Any]

# A small alphabet, so that making texts takes no time: quotes, escapes, controls, several scripts, an emoji.
_LETTERS = 'abxYZ 019_-/"\\\n\té\u00df日本\u2028🙂'
_TEXTS = st.text(_LETTERS, max_size=5)
_NAMES = st.one_of(
    st.sampled_from(["id", "name", "total", "größe", "日本", "a b", 'quote"', "back\\slash", "naïve 🙂"]),
    st.text(_LETTERS, min_size=1, max_size=4),
)
_PATTERNS = st.sampled_from(
    [
        "^[a-z]{1,4}$",
        "^[A-Z]{2}-[0-9]{3}$",
        "^(yes|no)$",
        r"^\d{1,3}$",
        "^[^0-9]{0,3}$",
        "^a+b?$",
        "^(é|ß|日){1,2}$",
        "ab",
        r"^\w{1,3}\.txt$",
    ]
)
_FORMATS = st.sampled_from(["date", "time", "date-time", "uuid", "ipv4", "email", "hostname", "duration"])
_CONSTANTS = st.one_of(
    st.none(), st.booleans(), st.integers(-1000, 1000), _TEXTS, st.sampled_from([1.5, -0.25, "€", "EUR"])
)


def _plain_string() -> st.SearchStrategy[Schema]:
    def bounds(low: int, extra: int, kind: int) -> Schema:
        schema: Schema = {"type": "string", "maxLength": low + extra}
        return schema if kind == 0 else {**schema, "minLength": low}

    return st.builds(bounds, st.integers(0, 3), st.integers(0, 6), st.integers(0, 1))


def _integer() -> st.SearchStrategy[Schema]:
    def bounds(low: int, span: int, step: int, exclusive: bool) -> Schema:
        if exclusive:
            return {"type": "integer", "exclusiveMinimum": low, "exclusiveMaximum": low + span + 2}
        schema: Schema = {"type": "integer", "minimum": low, "maximum": low + span}
        return {**schema, "multipleOf": step} if step <= span else schema

    return st.builds(bounds, st.integers(-50, 2000), st.integers(0, 500), st.integers(2, 7), st.booleans())


def _number() -> st.SearchStrategy[Schema]:
    def bounds(low: float, span: float) -> Schema:
        return {"type": "number", "minimum": low, "maximum": low + span}

    quarters = st.integers(-400, 400).map(lambda n: n / 4)
    return st.builds(bounds, quarters, st.integers(0, 400).map(lambda n: n / 4))


_LEAVES: st.SearchStrategy[Schema] = st.one_of(
    _plain_string(),
    _integer(),
    _number(),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"type": ["boolean", "null"]}]),
    st.builds(lambda pattern: {"type": "string", "pattern": pattern}, _PATTERNS),
    st.builds(lambda form: {"type": "string", "format": form}, _FORMATS),
    st.builds(lambda value: {"const": value}, _CONSTANTS),
    st.builds(lambda values: {"enum": values}, st.lists(_CONSTANTS, min_size=1, max_size=4)),
)


def _objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    def made(properties: dict[str, Schema], missing: int, extra: Schema | bool) -> Schema:
        names = list(properties)
        return {
            "type": "object",
            "properties": properties,
            "required": names[missing:],
            "additionalProperties": extra,
        }

    extra = st.one_of(st.just(False), st.just({"type": "boolean"}))
    return st.builds(made, st.dictionaries(_NAMES, inner, max_size=4), st.integers(0, 2), extra)


def _arrays(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    def made(items: Schema, low: int, span: int) -> Schema:
        return {"type": "array", "items": items, "minItems": low, "maxItems": low + span}

    def tuples(items: list[Schema]) -> Schema:
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}

    return st.one_of(
        st.builds(made, inner, st.integers(0, 2), st.integers(0, 2)),
        st.builds(tuples, st.lists(inner, min_size=1, max_size=3)),
    )


def _choices(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3))


def _nested() -> st.SearchStrategy[Schema]:
    references = st.sampled_from([{"$ref": "#/$defs/leaf"}, {"$ref": "#/$defs/node"}])
    return st.recursive(
        st.one_of(_LEAVES, references),
        lambda inner: st.one_of(_objects(inner), _arrays(inner), _choices(inner)),
        max_leaves=6,
    )


def schemas() -> st.SearchStrategy[Schema]:
    """Schemas that can be obeyed, with two definitions, of which ``node`` contains itself."""

    def made(root: Schema, leaf: Schema, wrapped: bool) -> Schema:
        node = {
            "type": "object",
            "properties": {"leaf": {"$ref": "#/$defs/leaf"}, "next": {"$ref": "#/$defs/node"}},
            "required": ["leaf"],
            "additionalProperties": False,
        }
        body = {"type": "array", "items": root, "maxItems": 2} if wrapped else root
        return {**body, "$defs": {"leaf": leaf, "node": node}}

    return st.builds(made, _nested(), _LEAVES, st.booleans())


def is_of_format(form: str, text: str) -> bool:
    """Whether ``text`` has the ``form`` of a schema, by other means than a regular expression where Python has
    them."""
    if form == "uuid":
        return str(uuid.UUID(text)) == text.lower()
    if form == "ipv4":
        return str(ipaddress.IPv4Address(text)) == text
    if form == "date":
        return date.fromisoformat(text).isoformat() == text
    # Of leap seconds and of fractions that Python cannot hold the form is looked at alone.
    return _FORMS[form].fullmatch(text) is not None


_TIME = r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([zZ]|[+-]([01]\d|2[0-3]):[0-5]\d)"
_FORMS = {
    "time": re.compile(_TIME),
    "date-time": re.compile(rf"\d{{4}}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[tT]{_TIME}"),
    "email": re.compile(r"[^@\s]+@[^@\s]+"),
    "hostname": re.compile(r"(?!-)[A-Za-z0-9.-]{1,253}(?<!-)"),
    "duration": re.compile(r"P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)"),
}


def checker() -> jsonschema.FormatChecker:
    """Knows the formats of ``schemas``."""
    made = jsonschema.FormatChecker(formats=())
    for form in ("uuid", "ipv4", "date", *_FORMS):
        made.checks(form, raises=ValueError)(functools.partial(_of_text, form))
    return made


def _of_text(form: str, value: object) -> bool:
    return not isinstance(value, str) or is_of_format(form, value)
