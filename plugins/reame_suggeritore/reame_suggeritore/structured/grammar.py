"""What an answer has to obey, in the languages that clients write it in, as a grammar for llguidance."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llguidance import LLMatcher
from llguidance.gbnf_to_lark import any_to_lark

from reame_core.errors import InvalidRequest
from reame_suggeritore.structured.wording import one_line

if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions

Schema = Mapping[str, object]

JSON_STYLE: JsonCompileOptions = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": False,
    "coerce_one_of": False,
}
"""JSON is written on one line, with a blank after each comma and colon: then there is no white space that a
small model could go on with for ever, and most of what is not a value is forced. The last two: what a schema
says is obeyed or refused, whatever the schema itself says about that."""

_WIDE_ESCAPE = re.compile(r"\\(?:\\|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")


@dataclass(frozen=True, slots=True)
class Grammar:
    """``text`` for llguidance; grammars with equal texts are the same."""

    text: str
    param: str
    """The field of the request that an error is about."""
    is_json: bool = False
    """Whether the answer, or the arguments in it, are JSON."""


def of_schema(schema: Schema, param: str) -> Grammar:
    """JSON that ``schema`` permits. The schema has been checked."""
    return Grammar(LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=JSON_STYLE), param, True)


def of_regex(pattern: str, param: str) -> Grammar:
    """A text that ``pattern`` matches from its beginning to its end."""
    return Grammar(LLMatcher.grammar_from_regex(pattern), param)


def of_choice(texts: list[str], param: str) -> Grammar:
    """One of ``texts``."""
    return of_lark("start: " + " | ".join(map(quoted, texts)), param)


def of_text(text: str, param: str) -> Grammar:
    """A grammar written in GBNF or in llguidance's form of Lark, which is recognised by its rule ``start``.
    Raises InvalidRequest."""
    try:
        lark = any_to_lark(_with_plain_escapes(text))
    except RecursionError:
        raise InvalidRequest(f"{param} is nested too deeply", param=param) from None
    except Exception as error:  # the converter raises whatever it happens upon
        raise InvalidRequest(f"{param} is no grammar in GBNF or Lark: {one_line(error)}", param=param) from None
    return of_lark(lark, param)


def of_lark(lark: str, param: str, *, is_json: bool = False) -> Grammar:
    """A grammar in llguidance's form of Lark."""
    return Grammar(LLMatcher.grammar_from_lark(lark), param, is_json)


def quoted(text: str) -> str:
    """``text`` as a literal of Lark."""
    return json.dumps(text, ensure_ascii=False)


def in_lark(schema: Schema) -> str:
    """``schema`` as a part of a Lark grammar."""
    return "%json " + json.dumps({**schema, "x-guidance": JSON_STYLE})


def _with_plain_escapes(text: str) -> str:
    """The converter cannot do escapes of GBNF with four or eight digits everywhere, so they become what they
    stand for."""

    def plain(match: re.Match[str]) -> str:
        digits = match[1] or match[2]
        if digits is None:
            return match[0]
        code = int(digits, 16)
        return f"\\x{code:02x}" if code < 0x80 else chr(code)

    return _WIDE_ESCAPE.sub(plain, text)
