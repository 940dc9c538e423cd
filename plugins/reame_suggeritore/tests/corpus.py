"""Small questions and answers of every form. Each answer is what a scripted model says."""

from __future__ import annotations

import json

_ITEMS = ("Ash", "Oak", "Elm", "Fir")


def _numbered(*labels: str, between: str = "\n") -> str:
    return between.join(f"{label} {item}" for label, item in zip(labels, _ITEMS, strict=True))


def _rows(head: str, *rows: str) -> str:
    return "\n".join((head, *rows))


ANSWERS: dict[str, str] = {
    "numbers and dots": _numbered("1.", "2.", "3.", "4."),
    "numbers and brackets": _numbered("1)", "2)", "3)", "4)"),
    "numbers in brackets": _numbered("(1)", "(2)", "(3)", "(4)"),
    "numbers from nine": _numbered("9.", "10.", "11.", "12."),
    "numbers with zeros": _numbered("01.", "02.", "03.", "04."),
    "numbers of two levels": _numbered("1.1", "1.2", "1.3", "1.4"),
    "letters and dots": _numbered("a.", "b.", "c.", "d."),
    "letters and brackets": _numbered("a)", "b)", "c)", "d)"),
    "large letters": _numbered("A.", "B.", "C.", "D."),
    "roman numbers": _numbered("i.", "ii.", "iii.", "iv."),
    "large roman numbers": _numbered("I)", "II)", "III)", "IV)"),
    "steps": _numbered("Step 1:", "Step 2:", "Step 3:", "Step 4:"),
    "numbers apart": _numbered("1.", "2.", "3.", "4.", between="\n\n"),
    "numbers indented": _numbered("  1.", "  2.", "  3.", "  4."),
    "numbers quoted": _numbered("> 1.", "> 2.", "> 3.", "> 4."),
    "numbers and bold": "1. **Ash**: grey\n2. **Oak**: old\n3. **Elm**: rare\n4. **Fir**: green",
    "numbers and sentences": "1. Plant an ash.\n2. Water an oak.\n3. Prune the elm.",
    "numbers with a break in them": "1. Ash\n   is grey\n2. Oak\n   is old\n3. Elm\n   is rare",
    "numbers that jump": "1. Ash\n2. Oak\n4. Elm\n8. Fir",
    "numbers that end early": "1. Ash\n2. Oak\n\nThese are all trees that I know.",
    "two lists": "Trees\n1. Ash\n2. Oak\n\nHerbs\n1. Dill\n2. Mint\n3. Sage",
    "dashes": _numbered("-", "-", "-", "-"),
    "stars": _numbered("*", "*", "*", "*"),
    "dots": _numbered("•", "•", "•", "•"),
    "pluses": _numbered("+", "+", "+", "+"),
    "boxes": _numbered("- [ ]", "- [ ]", "- [x]", "- [ ]"),
    "dashes in dashes": "- Trees\n  - Ash\n  - Oak\n- Herbs\n  - Dill\n  - Mint\n- Roots\n  - Beet\n  - Yam",
    "letters in numbers": "1. Trees\n   a) Ash\n   b) Oak\n2. Herbs\n   a) Dill\n   b) Mint\n3. Roots\n   a)",
    "dashes in numbers": "1. Trees\n   - Ash\n   - Oak\n\n2. Herbs\n   - Dill\n   - Mint",
    "dashes with bold words": "- **Ash** - grey\n- **Oak** - old\n- **Elm** - rare",
    "a table": _rows("| Tree | High |", "|---|---|", "| Ash | 21 |", "| Oak | 19 |", "| Elm | 23 |"),
    "a spaced table": _rows("| Tree | No |", "| ---- | -- |", "| Ash | 1 |", "| Oak | 2 |", "| Elm | 3 |"),
    "a padded table": _rows("| Tree  | High |", "|-------|------|", "| Ash   | 21   |", "| Hazel | 9    |"),
    "a table that counts": _rows(
        "| No | Tree |", "|----|------|", "| 1  | Ash  |", "| 2  | Oak  |", "| 3  | Elm  |"
    ),
    "a ragged table": _rows("| a | b |", "|---|---|", "| c | d | e |", "| f |", "| g | h |"),
    "a table and a word": _rows("| a | b |", "|---|---|", "| c | d |", "| e | f |", "", "That is all."),
    "headings": "# Ash\nA tree.\n\n# Oak\nA tree.\n\n# Elm\nA tree.",
    "headings that count": "## 1. Ash\nGrey.\n\n## 2. Oak\nOld.\n\n## 3. Elm\nRare.",
    "chapters": "# Chapter 1: Ash\nGrey.\n\n# Chapter 2: Oak\nOld.\n\n# Chapter 3: Elm\nRare.",
    "records": "Tree: Ash\nHigh: 21\n\nTree: Oak\nHigh: 19\n\nTree: Elm\nHigh: 23",
    "bold records": "**Tree:** Ash\n**High:** 21\n\n**Tree:** Oak\n**High:** 19",
    "records with a surprise": "Tree: Ash\nHigh: 21\n\nTree: Oak\nWood: hard\n\nTree: Elm\nHigh: 23",
    "yaml": "- tree: ash\n  high: 21\n- tree: oak\n  high: 19\n- tree: elm\n  high: 23",
    "nested yaml": "ash:\n  high: 21\n  wood:\n    hard: true\noak:\n  high: 19\n  wood:\n    hard: true",
    "settings": "[ash]\nhigh = 21\n\n[oak]\nhigh = 19\n\n[elm]\nhigh = 23",
    "csv": "id,tree,year,high\n1,ash,1990,21\n2,oak,1985,19\n3,elm,1979,23",
    "tsv": "tree\tyear\thigh\nash\t1990\t21\noak\t1985\t19\nelm\t1979\t23",
    "semicolons": "tree;year;high\nash;1990;21\noak;1985;19\nelm;1979;23",
    "json, pretty": json.dumps([{"tree": "ash", "high": 21}, {"tree": "oak", "high": 19}], indent=2),
    "json, compact": '[{"tree": "ash", "high": 21}, {"tree": "oak", "high": 19}, {"tree": "elm", "high": 23}]',
    "json, dense": '[{"t":"ash","h":21},{"t":"oak","h":19},{"t":"elm","h":23}]',
    "json, nested": '[{"tree": {"name": "ash"}, "at": [1, 2]}, {"tree": {"name": "oak"}, "at": [3, 4]}]',
    "json, null and true": '[{"a": null, "b": true}, {"a": null, "b": false}, {"a": null, "b": true}]',
    "json, empty": '{"a": {}, "b": [], "c": ""}',
    "json, escapes": '[{"a": "x\\"y"}, {"a": "\\u00e9\\n"}, {"a": "é\\\\"}]',
    "json in a block": '```json\n{\n  "tree": "ash",\n  "high": 21\n}\n```',
    "json lines": '{"tree": "ash", "high": 21}\n{"tree": "oak", "high": 19}\n{"tree": "elm", "high": 23}',
    "json that breaks off": '[{"tree": "ash", "high": 21}, {"tree": "oak"',
    "brackets that are no json": "{ash} and [oak] and {elm} are in a set: {1, 2}",
    "xml": _rows(
        "<all>",
        "  <tree>",
        "    <name>Ash</name>",
        "  </tree>",
        "  <tree>",
        "    <name>Oak</name>",
        "  </tree>",
    ),
    "html": "<ul>\n  <li>Ash</li>\n  <li>Oak</li>\n  <li>Elm</li>\n</ul>",
    "attributes": '<ul>\n  <li id="1">Ash</li>\n  <li id="2">Oak</li>\n  <li id="3">Elm</li>\n</ul>',
    "a program": "```python\ndef ash(x):\n    return x\n\n\ndef oak(x):\n    return x\n```",
    "a program in braces": "```c\nint ash(int x) {\n    return 1;\n}\n\nint oak(int x) {\n    return 2;\n}",
    "two blocks": "```sh\nls\n```\n\n```sh\npwd\n```",
    "prose": "Trees are tall plants. They live long, and some of them are older than any town.",
    "accents": "1. Érable\n2. Chêne à gland\n3. Hêtre — très vieux\n4. Café",
    "smiles": "- 🌳 ash\n- 🌲 fir\n- 🌴 palm",
    "line ends of another kind": "1. Ash\r\n2. Oak\r\n3. Elm",
    "a dialogue": "Ann: hello\nBob: hello\nAnn: how are you?\nBob: well",
    "a letter": "Dear Ann,\n\nthe trees are green.\n\nYours,\nBob",
    "repetition": "ha ha ha ha ha ha ha ha ha ha ha ha",
}
"""By what is asked for."""

SHOWN: dict[str, str] = {
    "Fill in\nTree: <name>\nHigh: <m>\nWood: <kind>": "Tree: Ash\nHigh: 21\nWood: hard",
    "Q: ash?\nHigh: 21\nWood: hard\n\nQ: oak?\nHigh: 19\nWood: hard\n\nQ: elm?": "High: 23\nWood: soft",
    'As {"tree": "x", "high": {"m": 1}}, please': '{"tree": "ash", "high": {"m": 21}}',
    "Name three trees": "1. Ash\n2. Oak\n3. Elm",
}
"""Whole questions that show a form or ask for a number of things."""

FORMLESS = frozenset(
    {"prose", "a letter", "repetition", "brackets that are no json", "a dialogue", "two blocks", "json, empty"}
)
"""Answers of which next to nothing is known."""
