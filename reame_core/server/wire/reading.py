"""From a JSON object to a struct, as leniently as the clients there are make necessary.

null means the default, 5.0 is a whole number, and fields nobody knows are left over rather than refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from reame_core.errors import InvalidRequest

T = TypeVar("T", bound=msgspec.Struct)

_PLACE = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_MISSING = re.compile(r"^Object missing required field `(?P<name>[^`]*)`$")
_TYPES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def read(kind: type[T], document: Mapping[str, Any]) -> tuple[T, dict[str, Any]]:
    """``document`` as a ``kind``, and the fields left over, by their dotted names.

    Raises InvalidRequest naming the field.
    """
    left_over: dict[str, Any] = {}
    cleaned = _cleaned(kind, document, "", left_over)
    try:
        return msgspec.convert(cleaned, kind), left_over
    except msgspec.ValidationError as error:
        raise _refusal(str(error)) from None


def _cleaned(
    kind: type[msgspec.Struct], document: Mapping[str, Any], within: str, left_over: dict[str, Any]
) -> dict[str, Any]:
    shapes = _shapes(kind)
    kept: dict[str, Any] = {}
    for name, value in document.items():
        if value is None:
            continue
        shape = shapes.get(name)
        if shape is None:
            left_over[within + name] = value
        elif isinstance(shape, type) and issubclass(shape, msgspec.Struct) and isinstance(value, dict):
            kept[name] = _cleaned(shape, value, f"{within}{name}.", left_over)
        elif shape is int and isinstance(value, float) and value.is_integer():
            kept[name] = int(value)
        else:
            kept[name] = value
    return kept


@cache
def _shapes(kind: type[msgspec.Struct]) -> dict[str, type]:
    """What each field holds when it is not null, as far as ``_cleaned`` treats it specially."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: _shape(field.type) for field in info.fields}


def _shape(info: inspect.Type) -> type:
    while isinstance(info, inspect.Metadata):
        info = info.type
    options = info.types if isinstance(info, inspect.UnionType) else (info,)
    for option in options:
        inner = option.type if isinstance(option, inspect.Metadata) else option
        if isinstance(inner, inspect.IntType):
            return int
        if isinstance(inner, inspect.StructType):
            return inner.cls
    return object


def _refusal(message: str) -> InvalidRequest:
    place = _PLACE.search(message)
    problem = message[: place.start()] if place else message
    path = place["path"].replace("[...]", "") if place else ""
    missing = _MISSING.match(problem)
    if missing:
        param = f"{path}.{missing['name']}" if path else missing["name"]
        return InvalidRequest(f"{param} is missing", param=param)
    expected = re.match(r"^Expected `(?P<wanted>[^`]+)`, got `(?P<got>[^`]+)`$", problem)
    if expected:
        wanted = " or ".join(_TYPES.get(each, each) for each in expected["wanted"].split(" | "))
        got = _TYPES.get(expected["got"], expected["got"])
        return InvalidRequest(f"{path or 'the body'} must be {wanted}, not {got}", param=path or None)
    described = f"{path}: {problem[:1].lower()}{problem[1:]}" if path else problem
    return InvalidRequest(described, param=path or None)
