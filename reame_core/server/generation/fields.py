"""Fields that the core does not serve: harmless ones, refused ones, and those of plugins."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog

from reame_core.errors import InvalidRequest
from reame_core.models.wording import alternatives, printable
from reame_core.plugins.api import ApiRequest
from reame_core.plugins.services import Services, ask_plugins, needs_plugin

if TYPE_CHECKING:
    from typing import Literal

    from reame_core.plugins.manager import PluginManager
    from reame_core.server.wire.requests import ChatRequest, GenerationFields

log = structlog.get_logger("reame.http")

_STRUCTURE = "suggeritore"
PLUGIN_OF = {
    "response_format": _STRUCTURE,
    "tools": _STRUCTURE,
    "tool_choice": _STRUCTURE,
    "parallel_tool_calls": _STRUCTURE,
    "functions": _STRUCTURE,
    "function_call": _STRUCTURE,
    "grammar": _STRUCTURE,
    "json_schema": _STRUCTURE,
    "regex": _STRUCTURE,
    "structured_outputs": _STRUCTURE,
    "guided_json": _STRUCTURE,
    "guided_regex": _STRUCTURE,
    "guided_choice": _STRUCTURE,
    "guided_grammar": _STRUCTURE,
    "reame.conclave": "conclave",
}
"""Fields that change the answer, so that ignoring them would be wrong, and the plugin that serves them."""

_FORMATS = ("text", "json_object", "json_schema")
_HINTS = frozenset({"prediction"})
"""Fields that may make the answer come sooner and change nothing else."""
_ACCEPTED: dict[str, tuple[object, ...]] = {
    "store": (False,),
    "service_tier": ("auto", "default"),
    "modalities": (["text"],),
    "audio": (),
    "verbosity": ("medium",),
    "web_search_options": (),
}
_MOST_NAMES_LOGGED = 10


def refuse_unserved(fields: GenerationFields) -> None:
    """Raise InvalidRequest for a parameter of the OpenAI API that this server cannot honour."""
    for name, accepted in _ACCEPTED.items():
        value = getattr(fields, name, None)
        if value is None or value in accepted:
            continue
        shown = [each if isinstance(each, str) else json.dumps(each) for each in accepted]
        only = f"; it can be {alternatives(shown)}" if shown else ""
        raise InvalidRequest(f"{name} is not supported with this value{only}", param=name)
    if fields.stream_options is not None and fields.stream_options.include_obfuscation:
        raise InvalidRequest(
            "stream_options.include_obfuscation is not supported", param="stream_options.include_obfuscation"
        )


def asks_for_plugins(left_over: Mapping[str, Any]) -> bool:
    """Whether some plugin may have work to do, or the lack of one is an error."""
    return bool(_substantial(left_over))


def find_services(
    plugins: PluginManager,
    endpoint: Literal["chat", "completions"],
    fields: GenerationFields,
    left_over: Mapping[str, Any],
) -> Services:
    """Offer what is ``left_over`` to the plugins. Raises InvalidRequest for a field that changes the answer
    and that no plugin takes; others are ignored and logged."""
    request = ApiRequest(endpoint, _substantial(left_over), fields.n or 1, bool(fields.stream))
    services, unserved = ask_plugins(plugins, request)
    _refuse_or_log(unserved)
    return services


def _substantial(left_over: Mapping[str, Any]) -> dict[str, Any]:
    """Without fields whose value asks for nothing."""
    kept = dict(left_over)
    if "response_format" in kept and _format_of(kept["response_format"]) == "text":
        del kept["response_format"]
    for name in ("tools", "functions"):
        if kept.get(name) == []:
            del kept[name]
    if "tools" not in kept:
        kept.pop("parallel_tool_calls", None)
        if kept.get("tool_choice") in ("none", "auto"):
            del kept["tool_choice"]
    if "functions" not in kept and kept.get("function_call") in ("none", "auto"):
        del kept["function_call"]
    return kept


def _format_of(response_format: object) -> str:
    kind = response_format.get("type") if isinstance(response_format, Mapping) else None
    if kind not in _FORMATS:
        shown = printable(repr(kind)) if isinstance(response_format, Mapping) else "no object"
        raise InvalidRequest(
            f"response_format.type is {shown}; it can be {alternatives(list(_FORMATS))}",
            param="response_format",
        )
    return str(kind)


def _refuse_or_log(open_fields: Mapping[str, Any]) -> None:
    for name in open_fields:
        if plugin := PLUGIN_OF.get(name):
            raise InvalidRequest(needs_plugin(name, plugin), param=name)
        if name.startswith("reame."):
            raise InvalidRequest(f"{printable(name)} is no field of this server or of its plugins", param=name)
    log_ignored([name for name in open_fields if name not in _HINTS])


def log_ignored(names: Sequence[str]) -> None:
    """Tell the log, in one line, of the fields of a request that nobody knows."""
    if names:
        log.info("unknown fields are ignored", fields=[printable(name) for name in names[:_MOST_NAMES_LOGGED]])


def template_variables(chat: ChatRequest, template_source: str) -> dict[str, Any]:
    """Further variables of the chat template. Raises InvalidRequest for those it does not read."""
    variables = dict(chat.chat_template_kwargs or {})
    if chat.reasoning_effort is not None:
        if "reasoning_effort" not in template_source:
            raise InvalidRequest("reasoning_effort is not supported by this model", param="reasoning_effort")
        variables["reasoning_effort"] = chat.reasoning_effort
    return variables
