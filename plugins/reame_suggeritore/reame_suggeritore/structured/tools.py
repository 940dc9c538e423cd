"""The fields ``tools``, ``tool_choice`` and ``parallel_tool_calls``, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from reame_core.errors import InvalidRequest
from reame_suggeritore.structured.grammar import Schema
from reame_suggeritore.structured.schema import checked

MOST_TOOLS = 128
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_NO_ARGUMENTS: Schema = {"type": "object", "properties": {}, "additionalProperties": False}

Mode = Literal["none", "auto", "required"]


@dataclass(frozen=True, slots=True)
class Tool:
    """One function."""

    name: str
    parameters: Schema
    param: str
    """The field of the request that ``parameters`` came in."""


@dataclass(frozen=True, slots=True)
class ToolWish:
    """What the client wants of its tools."""

    tools: tuple[Tool, ...]
    mode: Mode
    callable: tuple[Tool, ...]
    """Those that may be called."""
    parallel: bool
    """Whether several calls may be made."""


def read_tools(fields: Mapping[str, object]) -> ToolWish | None:
    """What ``fields`` say. Raises InvalidRequest, naming the place."""
    given = fields.get("tools")
    if given is None:
        if "tool_choice" in fields:
            raise InvalidRequest("tool_choice needs tools to choose from", param="tool_choice")
        return None
    if not isinstance(given, list) or len(given) > MOST_TOOLS:
        raise InvalidRequest(f"tools must be a list of at most {MOST_TOOLS} functions", param="tools")
    tools = tuple(_tool(tool, f"tools[{index}]") for index, tool in enumerate(given))
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidRequest(f"tools has two functions called {twice!r}", param="tools")
    parallel = fields.get("parallel_tool_calls", True)
    if not isinstance(parallel, bool):
        raise InvalidRequest("parallel_tool_calls must be true or false", param="parallel_tool_calls")
    choice = fields.get("tool_choice", "auto")
    if choice in ("none", "auto", "required"):
        return ToolWish(tools, choice, tools, parallel)
    named = _named(choice)
    chosen = tuple(tool for tool in tools if tool.name == named)
    if not chosen:
        raise InvalidRequest(
            f"tool_choice names the function {named!r:.80}, which is not among the tools", param="tool_choice"
        )
    return ToolWish(tools, "required", chosen, parallel=False)


def _tool(tool: object, param: str) -> Tool:
    function = _function(tool, param)
    name = function.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidRequest(
            f"{param}.function.name must be 1 to 128 letters, digits, or any of _ . : -",
            param=f"{param}.function.name",
        )
    parameters = function.get("parameters")
    if parameters is None:
        return Tool(name, _NO_ARGUMENTS, param)
    place = f"{param}.function.parameters"
    schema = checked(parameters, place)
    if schema.get("type", "object") != "object":
        raise InvalidRequest(f"{place}.type must be object", param=f"{place}.type")
    return Tool(name, {"type": "object", **schema}, place)


def _function(tool: object, param: str) -> Mapping[str, object]:
    kind = tool.get("type") if isinstance(tool, Mapping) else None
    if not isinstance(tool, Mapping) or kind != "function":
        raise InvalidRequest(f"{param}.type must be 'function', not {kind!r:.80}", param=f"{param}.type")
    function = tool.get("function")
    if not isinstance(function, Mapping):
        raise InvalidRequest(
            f"{param}.function must be an object with name and parameters", param=f"{param}.function"
        )
    return function


def _named(choice: object) -> str:
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(choice, Mapping) or choice.get("type") != "function" or not isinstance(name, str):
        raise InvalidRequest(
            'tool_choice must be "none", "auto", "required" or {"type": "function", "function": {"name": …}}',
            param="tool_choice",
        )
    return name
