"""The reference of all settings as Markdown, made from the schema.

``python -m reame_core.config.reference docs/configuration.md`` renews it in place; a test compares.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from reame_core.config.keys import Key, keys_of, section_names

BEGIN = "<!-- begin of the generated reference -->"
END = "<!-- end of the generated reference -->"


def reference() -> str:
    """One table a section."""
    return "\n".join(_section(name) for name in section_names())


def renewed(document: str) -> str:
    """``document`` with the reference between its marks made anew."""
    pattern = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n\n{reference()}\n{END}", document)


def _section(name: str) -> str:
    lines = [f"### `[{name}]`", "", "| Key | Default | Accepts | Variable | |", "|---|---|---|---|---|"]
    lines += [_row(key) for key in keys_of(name)]
    return "\n".join(lines) + "\n"


def _row(key: Key) -> str:
    return f"| `{key.name}` | {_default(key)} | {key.expected} | `{key.variable}` | {key.description} |"


def _default(key: Key) -> str:
    if key.default == ():
        return "`[]`"
    return f"`{key.show(key.default)}`" if key.none_word or key.default is not None else "none"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        file = Path(name)
        file.write_text(renewed(file.read_text(encoding="utf-8")), encoding="utf-8")
