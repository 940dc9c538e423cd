"""Each setting as a thing of its own: its name, what it accepts, how a value of it is read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

import msgspec
from msgspec import inspect

from reame_core.config.schema import Config

PLUGIN_TABLES = "tables"
SECRET_WORDS = frozenset({"key", "token", "secret", "password"})

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})
_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Key:
    """One setting, ``section.name`` in the file."""

    section: str
    name: str
    annotation: Any
    shape: inspect.Type
    """What a value looks like when it is not None."""
    default: object
    nullable: bool
    none_word: str | None
    """Stands for None wherever a value can be written."""
    is_path: bool
    description: str

    @property
    def full_name(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"REAME_{self.section}__{self.name}".upper()

    @property
    def expected(self) -> str:
        """What it accepts, for people."""
        text = _expected(self)
        return f"{text}, or {self.none_word}" if self.none_word else text

    def read(self, value: object, written: str | None = None) -> object:
        """The checked value of what a file says. Raises ValueError with the end of a sentence, which quotes
        the value as it was ``written``."""
        written = show_input(value) if written is None else written
        if self.nullable and isinstance(value, str) and value == (self.none_word or ""):
            return None
        try:
            checked = msgspec.convert(value, self.annotation)
        except (msgspec.ValidationError, OverflowError):
            raise ValueError(self._refusal(written)) from None
        if any("\0" in text for text in _texts(checked)):
            raise ValueError("must not hold a NUL character")
        return checked

    def read_text(self, text: str) -> object:
        """The checked value of what a variable or a flag says."""
        if self.none_word is not None and text.strip().lower() == self.none_word:
            return None
        try:
            value = _parse(self.shape, text)
        except ValueError:
            raise ValueError(self._refusal(show_input(text))) from None
        return self.read(value, shortened(text.strip()) if isinstance(value, int | float) else None)

    def show(self, value: object) -> str:
        """A value as it would be written, for people."""
        if value is None:
            return self.none_word or "none"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ", ".join(value) or "(empty)"
        return f"{value:.15g}" if isinstance(value, float) else str(value)

    def _refusal(self, written: str) -> str:
        if is_secret(self.name):
            return f"must be {self.expected}"
        return f"must be {self.expected}, not {written}"


@cache
def all_keys() -> dict[str, Key]:
    """Every setting by its full name, in the order of the schema."""
    keys = (_key(section, field) for section, fields in _sections().items() for field in fields)
    return {key.full_name: key for key in keys}


@cache
def section_names() -> tuple[str, ...]:
    return tuple(_sections())


def keys_of(section: str) -> list[Key]:
    return [key for key in all_keys().values() if key.section == section]


def is_secret(name: str) -> bool:
    """Whether values of a setting of this name are never shown (``api_key``, but not ``max_tokens``)."""
    return not SECRET_WORDS.isdisjoint(name.lower().replace("-", "_").split("_"))


def show_input(value: object) -> str:
    """What somebody wrote, short enough for one line."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        return "a huge number"
    return shortened(text)


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _sections() -> dict[str, tuple[inspect.Field, ...]]:
    sections = {}
    for field in _struct_fields(inspect.type_info(Config)):
        sections[field.name] = tuple(f for f in _struct_fields(field.type) if f.name != PLUGIN_TABLES)
    return sections


def _struct_fields(info: inspect.Type) -> tuple[inspect.Field, ...]:
    assert isinstance(info, inspect.StructType)
    return info.fields


def _key(section: str, field: inspect.Field) -> Key:
    shape, description, extra = _unwrap(field.type)
    nullable = isinstance(shape, inspect.UnionType)
    if isinstance(shape, inspect.UnionType):
        (shape,) = (option for option in shape.types if not isinstance(option, inspect.NoneType))
    struct = Config.__annotations__[section]
    return Key(
        section=section,
        name=field.name,
        annotation=struct.__annotations__[field.name],
        shape=shape,
        default=field.default,
        nullable=nullable,
        none_word=extra.get("none"),
        is_path=bool(extra.get("path")),
        description=description,
    )


def _unwrap(info: inspect.Type) -> tuple[inspect.Type, str, dict[str, Any]]:
    description = ""
    extra: dict[str, Any] = {}
    while isinstance(info, inspect.Metadata):
        description = (info.extra_json_schema or {}).get("description", description)
        extra = {**(info.extra or {}), **extra}
        info = info.type
    return info, description, extra


def _expected(key: Key) -> str:
    shape = key.shape
    match shape:
        case inspect.IntType():
            return f"a whole number from {shape.ge} to {shape.le}"
        case inspect.FloatType(gt=None):
            return f"a number from {shape.ge:g} to {shape.le:g}"
        case inspect.FloatType():
            return f"a number above {shape.gt:g} and at most {shape.le:g}"
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType():
            # msgspec sorts the values, the schema has them in an order that says something.
            literal, _ = get_args(key.annotation)
            return "one of " + ", ".join(get_args(literal))
        case inspect.VarTupleType():
            return "a list of names"
        case _:
            return "a path" if key.is_path else "a text"


def _parse(shape: inspect.Type, text: str) -> object:
    match shape:
        case inspect.IntType():
            return int(text)
        case inspect.FloatType():
            return float(text)
        case inspect.BoolType() if text.strip().lower() in _TRUE | _FALSE:
            return text.strip().lower() in _TRUE
        case inspect.VarTupleType():
            return [name.strip() for name in text.split(",") if name.strip()]
        case _:
            return text


def _texts(value: object) -> list[str]:
    members = value if isinstance(value, tuple) else (value,)
    return [member for member in members if isinstance(member, str)]
