"""How models write their calls of tools, by the chat template they were trained with."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """A call is ``opening``, the name, ``before_arguments``, the arguments as JSON, ``closing``."""

    name: str
    marker: str
    """What begins calls in the middle of a text. Empty where a call is the whole answer."""
    opening: str
    before_arguments: str
    closing: str
    between: str | None
    """What stands between two calls; None where there can be only one."""
    shown_by_template: bool = True
    """Whether the chat template tells the model about tools, calls and results. Else they are put into the
    messages."""


HERMES = ToolFormat(
    name="hermes",
    marker="<tool_call>",
    opening='<tool_call>\n{"name": "',
    before_arguments='", "arguments": ',
    closing="}\n</tool_call>",
    between="\n",
)
"""Hermes 2 Pro and later, Qwen 2.5 and 3."""

LLAMA3 = ToolFormat(
    name="llama3",
    marker="",
    opening='{"name": "',
    before_arguments='", "parameters": ',
    closing="}",
    between=None,
)
"""Llama 3.1 and later: the templates take one call a turn."""

DEFAULT = ToolFormat(
    name="default",
    marker=HERMES.marker,
    opening=HERMES.opening,
    before_arguments=HERMES.before_arguments,
    closing=HERMES.closing,
    between=HERMES.between,
    shown_by_template=False,
)
"""For all others, whose template knows no tools or calls them in a way we do not know."""


def format_of(template: str | None) -> ToolFormat:
    """The format for the model with this chat ``template``."""
    template = template or ""
    if not re.search(r"\btools\b", template):
        return DEFAULT
    if "<tool_call>" in template and "<function=" not in template and '"arguments"' in _unescaped(template):
        return HERMES
    if '"parameters"' in _unescaped(template) and ("<|python_tag|>" in template or "ipython" in template):
        return LLAMA3
    return DEFAULT


def _unescaped(template: str) -> str:
    return template.replace('\\"', '"')
