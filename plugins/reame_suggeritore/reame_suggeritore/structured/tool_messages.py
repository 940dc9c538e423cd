"""Tools, calls and results in the messages of a chat, for models whose template does not know them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from reame_suggeritore.structured.tool_format import ToolFormat

Message = Mapping[str, object]

_INSTRUCTIONS = """# Tools

These functions can be called to answer the user, one JSON object a line:
{tools}

To call a function, write its name and arguments like this:
{example}
The results come back between <tool_response> and </tool_response>."""


def with_tools(
    messages: Sequence[Message], tools: Sequence[Mapping[str, object]], form: ToolFormat
) -> list[Message]:
    """``messages`` that tell everything about ``tools``. They have a role and a text each."""
    told: list[Message] = []
    for message in messages:
        calls = message.get("tool_calls")
        if message["role"] == "tool":
            told = _with_result(told, str(message["content"]))
        elif isinstance(calls, list):
            content = [str(message["content"])] if message["content"] else []
            told.append({"role": "assistant", "content": "\n".join([*content, *_written(calls, form)])})
        else:
            told.append(message)
    return _with_instructions(told, tools, form)


def _with_result(messages: list[Message], result: str) -> list[Message]:
    """The results of one turn share a message."""
    text = f"<tool_response>\n{result}\n</tool_response>"
    last = messages[-1] if messages else {}
    if last.get("role") == "user" and str(last["content"]).startswith("<tool_response>\n"):
        return [*messages[:-1], {"role": "user", "content": f"{last['content']}\n{text}"}]
    return [*messages, {"role": "user", "content": text}]


def _written(calls: list[object], form: ToolFormat) -> list[str]:
    """Calls as the model would have written them."""
    texts = []
    for call in calls:
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            arguments = function.get("arguments", {})
            shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            name = function.get("name", "")
            texts.append(f"{form.opening}{name}{form.before_arguments}{shown}{form.closing}")
    return texts


def _with_instructions(
    messages: list[Message], tools: Sequence[Mapping[str, object]], form: ToolFormat
) -> list[Message]:
    example = f"{form.opening}the name{form.before_arguments}{{…}}{form.closing}"
    shown = "\n".join(json.dumps(tool.get("function"), ensure_ascii=False) for tool in tools)
    text = _INSTRUCTIONS.format(tools=shown, example=example)
    if messages and messages[0]["role"] == "system":
        return [{"role": "system", "content": f"{messages[0]['content']}\n\n{text}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]
