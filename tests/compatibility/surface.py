"""The public API as data, so that two of its versions can be compared: names, arguments, fields."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from reame_core.plugins.forms import hook_arguments

Surface = dict[str, Any]
"""JSON: {"hooks": {name: [arguments]}, "modules": {module: {name: what it is}}}"""

WRITTEN_BY_PLUGINS = {
    "reame_core.plugins.api.Constraint",
    "reame_core.plugins.api.ReplyParser",
}
"""Protocols of objects that plugins make: what is added to one is missing in all that there are."""


def surface(modules: Sequence[str]) -> Surface:
    """Of these public modules as they are now."""
    return {
        "hooks": {hook: list(arguments) for hook, arguments in hook_arguments().items()},
        "modules": {name: dict(sorted(_names(importlib.import_module(name)))) for name in sorted(modules)},
    }


def losses(old: Surface, new: Surface) -> list[str]:
    """What a plugin that works with ``old`` may miss in ``new``, one line each."""
    found = []
    for hook, arguments in old["hooks"].items():
        if hook not in new["hooks"]:
            found.append(f"there is no hook {hook!r} any more")
            continue
        gone = [argument for argument in arguments if argument not in new["hooks"][hook]]
        found += [f"hook {hook!r} has no argument {argument!r} any more" for argument in gone]
    for module, names in old["modules"].items():
        for name, was in names.items():
            found += _lost(f"{module}.{name}", was, new["modules"].get(module, {}).get(name))
    return found


def _names(module: Any) -> Iterator[tuple[str, Any]]:
    for name in bound_names(module):
        yield name, _described(getattr(module, name))


def bound_names(module: Any) -> list[str]:
    """The public names of a module: what ``__all__`` says, else what the module makes and what it imports
    for others, as itself or in the ``__init__`` of a package."""
    names = getattr(module, "__all__", None) or _made(module)
    return [name for name in names if not name.startswith("_") and not inspect.ismodule(getattr(module, name))]


def _made(module: Any) -> Iterator[str]:
    for node in ast.parse(inspect.getsource(module)).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.ImportFrom(module=str(source), names=names) if source.startswith("reame_core"):
                passed_on = hasattr(module, "__path__")
                yield from (each.name for each in names if passed_on or each.asname == each.name)


def _described(value: Any) -> dict[str, Any]:
    if isinstance(value, enum.EnumType):
        return {"kind": "enum", "values": {member.name: str(member.value) for member in value}}
    if inspect.isclass(value):
        members = {
            name: _arguments(member) if callable(member) else None
            for base in reversed(value.__mro__)
            if base.__module__.startswith("reame_core")
            for name, member in vars(base).items()
            if not name.startswith("_")
        }
        annotations = [name for base in value.__mro__ for name in vars(base).get("__annotations__", {})]
        members |= {name: None for name in annotations if not name.startswith("_") and name not in members}
        return {"kind": "class", "members": members, "made with": _arguments(value)}
    if callable(value) and not isinstance(value, type):
        return {"kind": "function", "arguments": _arguments(value)}
    return {"kind": "value"}


def _arguments(function: Any) -> list[list[Any]] | None:
    """[name, kind, whether it may be left out] of each; None where Python does not know."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [
        [parameter.name, parameter.kind.name, parameter.default is not parameter.empty]
        for parameter in parameters
        if parameter.name != "self"
    ]


def _lost(name: str, was: Any, now: Any) -> Iterator[str]:
    if now is None:
        yield f"{name} is gone"
    elif was["kind"] != now["kind"]:
        yield f"{name} was a {was['kind']} and is a {now['kind']}"
    elif was["kind"] == "enum":
        for member, value in was["values"].items():
            if now["values"].get(member) != value:
                yield f"{name}.{member} is no longer {value!r}"
    elif was["kind"] == "function":
        yield from _lost_arguments(name, was["arguments"], now["arguments"])
    elif was["kind"] == "class":
        yield from _lost_arguments(name, was["made with"], now["made with"])
        for member, arguments in was["members"].items():
            if member not in now["members"]:
                yield f"{name}.{member} is gone"
            else:
                yield from _lost_arguments(f"{name}.{member}", arguments, now["members"][member])
        if name in WRITTEN_BY_PLUGINS:
            yield from (
                f"{name}.{new} is wanted of plugins now" for new in set(now["members"]) - set(was["members"])
            )


_BY_POSITION = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")


def _lost_arguments(name: str, was: list[list[Any]] | None, now: list[list[Any]] | None) -> Iterator[str]:
    """Calls that worked must go on working."""
    if was is None or now is None:
        return
    left = {argument: (kind, optional) for argument, kind, optional in now}
    takes_any = any(kind == "VAR_KEYWORD" for _, kind, _ in now)
    for argument, kind, optional in was:
        if argument not in left and not takes_any:
            yield f"{name} takes no argument {argument!r} any more"
        elif argument in left and optional and not left[argument][1]:
            yield f"{name} cannot do without {argument!r} any more"
        elif argument in left and kind in _BY_POSITION and left[argument][0] not in _BY_POSITION:
            yield f"{name} does not take {argument!r} by position any more"
    before = [argument for argument, kind, _ in was if kind in _BY_POSITION]
    after = [argument for argument, kind, _ in now if kind in _BY_POSITION][: len(before)]
    if before != after and {*before, *after} <= set(left) and sorted(before) == sorted(after):
        yield f"{name} takes its arguments in another order"
    for argument, (kind, optional) in left.items():
        if argument not in {each for each, _, _ in was} and not optional and not kind.startswith("VAR_"):
            yield f"{name} wants an argument {argument!r} now"
