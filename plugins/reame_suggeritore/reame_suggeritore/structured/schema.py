"""Schemas of requests: checked against their own rules, and where one cannot be obeyed, the place in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from reame_core.errors import InvalidRequest
from reame_suggeritore.structured.grammar import Schema, of_schema
from reame_suggeritore.structured.valid_schemas import ValidSchemas
from reame_suggeritore.structured.wording import one_line

Attempt = Callable[[str], str]
"""A grammar to what is wrong with it; empty where nothing is."""
Path = tuple[str | int, ...]

_VALID = ValidSchemas()
_MOST_ATTEMPTS = 400
_MISSING = re.compile(r"Resource '([^']*)' is not present")
_MAPS = ("properties", "patternProperties")
_LISTS = ("prefixItems", "anyOf", "oneOf", "allOf")
_SINGLE = ("items", "additionalProperties", "additionalItems")
_BROAD = ("type", "properties", "items", "required")
"""Keywords without which most schemas can be obeyed, whatever is wrong with them."""


def checked(schema: object, param: str) -> Schema:
    """``schema`` where it is one. Raises InvalidRequest with the place in ``param``."""
    if not isinstance(schema, Mapping):
        raise InvalidRequest(f"{param} must be a JSON schema, which is an object", param=param)
    try:
        if schema not in _VALID:
            _check(schema, param)
            _VALID.add(schema)
    except RecursionError:
        raise InvalidRequest(f"{param} is nested too deeply", param=param) from None
    return schema


def _check(schema: Schema, param: str) -> None:
    import jsonschema

    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        # Patterns are for llguidance to judge: its regular expressions are not Python's.
        kind.check_schema(schema, format_checker=jsonschema.FormatChecker(formats=()))
    except jsonschema.SchemaError as error:
        place = param + _shown(tuple(error.absolute_path))
        problem = one_line(error.message)
        raise InvalidRequest(f"{place} is not valid in a schema: {problem}", param=place) from None


def refusal(schema: Schema, param: str, attempt: Attempt) -> InvalidRequest:
    """Why ``schema`` cannot be obeyed, naming the innermost place that is to blame."""
    problem = attempt(of_schema(schema, param).text)
    if foreign := _MISSING.match(problem):
        # It spoils every part of the schema.
        path = next(_references(schema, foreign[1], ()), ())
        problem = "references lead within the schema only"
    else:
        path, problem = _Search(schema, attempt).innermost()
    place = param + _shown(path)
    return InvalidRequest(f"{place} cannot be obeyed: {problem}", param=place)


class _Search:
    """Compiles parts of ``root`` by themselves: the smallest part that fails is to blame."""

    def __init__(self, root: Schema, attempt: Attempt) -> None:
        self._root = root
        self._movable = _with_moved_references(root)
        self._attempt = attempt
        self._left = _MOST_ATTEMPTS
        self._seen: set[Path] = set()

    def innermost(self) -> tuple[Path, str]:
        """(path, what is wrong there)"""
        path: Path = ()
        problem = self._problem(path)
        while True:
            self._seen.add(path)
            below = ((inner, self._problem(inner)) for inner in self._inner(path) if self._is_new(inner))
            found = next(((inner, wrong) for inner, wrong in below if wrong), None)
            if found is None:
                return (*path, *self._keyword(path)), problem
            path, problem = found

    def _is_new(self, path: Path) -> bool:
        """Whether the schema at ``path`` is not one of those that contain it."""
        node = _at(self._root, path)
        target = _target(self._root, node.get("$ref")) if isinstance(node, Mapping) else None
        return path not in self._seen and target not in self._seen

    def _inner(self, path: Path) -> Iterator[Path]:
        """The places of the schemas right below that at ``path``."""
        node = _at(self._root, path)
        if not isinstance(node, Mapping):
            return
        for key in _MAPS:
            if isinstance(inner := node.get(key), Mapping):
                yield from ((*path, key, name) for name in inner)
        for key in _LISTS:
            if isinstance(inner := node.get(key), list):
                yield from ((*path, key, index) for index in range(len(inner)))
        for key in _SINGLE:
            if isinstance(node.get(key), Mapping):
                yield (*path, key)
        if (target := _target(self._root, node.get("$ref"))) is not None:
            yield target

    def _keyword(self, path: Path) -> Path:
        """The keyword at ``path`` without which nothing is wrong there, or one that is wrong by itself."""
        node = _at(self._movable, path)
        if isinstance(node, Mapping):
            keys = sorted(node, key=_BROAD.__contains__)
            for key in keys:
                if not self._fails({name: value for name, value in node.items() if name != key}):
                    return (key,)
            for key in keys:
                if self._fails({key: node[key]}):
                    return (key,)
        return ()

    def _problem(self, path: Path) -> str:
        """What is wrong with the schema at ``path`` by itself."""
        pointer = "".join("/" + _escaped(part) for part in path)
        return self._fails({"$ref": f"#/$defs/root{pointer}"})

    def _fails(self, schema: Schema) -> str:
        """What is wrong with ``schema``, whose references lead into the root."""
        if not self._left:
            return ""
        self._left -= 1
        grammar = of_schema({**schema, "$defs": {"root": self._movable}}, "")
        return self._attempt(grammar.text).replace("/$defs/root", "")


def _with_moved_references(root: Schema) -> Schema:
    """``root`` for a place at ``#/$defs/root`` of another schema."""

    def moved(value: object) -> object:
        if isinstance(value, Mapping):
            return {
                key: f"#/$defs/root{inner[1:]}"
                if key == "$ref" and isinstance(inner, str) and inner.startswith("#")
                else moved(inner)
                for key, inner in value.items()
            }
        return list(map(moved, value)) if isinstance(value, list) else value

    result = moved({key: value for key, value in root.items() if key != "$schema"})
    assert isinstance(result, dict)
    return result


def _references(value: object, target: str, path: Path) -> Iterator[Path]:
    """The places of references to ``target`` and to what is in it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "$ref" and isinstance(inner, str) and inner.partition("#")[0] == target:
                yield (*path, key)
            yield from _references(inner, target, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _references(inner, target, (*path, index))


def _at(schema: object, path: Path) -> object:
    for part in path:
        schema = schema[part]  # type: ignore[index]
    return schema


def _target(root: Schema, reference: object) -> Path | None:
    """Where a reference within the schema leads, if anywhere."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    path: Path = ()
    node: object = root
    for raw in reference[2:].split("/"):
        name = raw.replace("~1", "/").replace("~0", "~")
        part = int(name) if isinstance(node, list) and name.isdigit() else name
        try:
            node = node[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
        path = (*path, part)
    return path


def _escaped(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


def _shown(path: Path) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
