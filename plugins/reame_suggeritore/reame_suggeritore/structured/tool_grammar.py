"""The grammar of an answer that may or must call tools."""

from __future__ import annotations

from reame_suggeritore.structured.grammar import Grammar, in_lark, of_lark, quoted
from reame_suggeritore.structured.tool_format import ToolFormat
from reame_suggeritore.structured.tools import ToolWish


def grammar_of(wish: ToolWish, form: ToolFormat, content: str | None) -> Grammar | None:
    """What an answer to ``wish`` can be. ``content`` is what it has to be where it calls no tool, as a part of
    a Lark grammar; None for any text. None where anything is permitted."""
    if wish.mode == "none":
        return _without_calls(form) if content is None else of_lark(f"start: {content}", "tools", is_json=True)
    rules = {"body": " | ".join(_body(tool.name, in_lark(tool.parameters), form) for tool in wish.callable)}
    opening = quoted(form.opening)
    more = ""
    if form.between is not None and wish.parallel:
        more = f" ({quoted(form.between + form.opening)} body)*"
    if wish.mode == "required":
        rules["start"] = f"{opening} body{more}"
    elif content is not None:
        rules["start"] = f"{content} | {opening} body{more}"
    elif form.marker:
        # What the marker has begun is a call: from there on nothing else is permitted.
        rules["start"] = f"TEXT | begun {quoted(form.opening.removeprefix(form.marker))} body{more}"
        rules["begun[lazy]"] = f"TEXT {quoted(form.marker)}"
    else:
        rules["start"] = f"TEXT | {opening} body"
        rules["TEXT"] = rf"/([^{form.opening[0]}](.|\n)*)?/"
    if "TEXT" not in rules:
        rules["TEXT"] = r"/(.|\n)*/"
    lark = "\n".join(f"{name}: {rule}" for name, rule in rules.items())
    return of_lark(lark, "tools", is_json=True)


def _body(name: str, arguments: str, form: ToolFormat) -> str:
    """A call from the name on."""
    return f"{quoted(name + form.before_arguments)} {arguments} {quoted(form.closing)}"


def _without_calls(form: ToolFormat) -> Grammar | None:
    if not form.marker:
        return None
    return of_lark(rf"start: TEXT{chr(10)}TEXT: /(.|\n)*/ & ~/(.|\n)*{form.marker}(.|\n)*/", "tools")
