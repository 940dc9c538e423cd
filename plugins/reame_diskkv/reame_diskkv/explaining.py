"""Why a prompt has to be computed: where it leaves what is stored, and what usually is behind that."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass

from reame_diskkv.chain import TOKEN_BYTES, common_tokens, decode
from reame_diskkv.index import Index
from reame_diskkv.lookup import Prompt, longest_chain, nearest

_AROUND = 16
"""Tokens shown before and after the place."""
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\b\d{10}\b"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d"
)
_IDENTIFIER = re.compile(r"\b(?=\w*\d)[0-9a-fA-F]{8,}\b|[0-9a-f]{8}-[0-9a-f]{4}-")
_KEY = re.compile(r'"(\w+)"\s*:')


@dataclass(frozen=True, slots=True)
class Explanation:
    """How much of a prompt is stored, and why not more."""

    tokens: int
    stored: int
    """Tokens from the beginning that need not be computed."""
    reason: str
    common: str = ""
    """The text just before the place where the prompt leaves what is stored."""
    wanted: str = ""
    """How the prompt goes on."""
    nearest: str = ""
    """How what is stored goes on."""
    suspects: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"{self.stored:,} of {self.tokens:,} tokens are stored: {self.reason}"
        if self.wanted or self.nearest:
            yield f"  both:   …{self.common!r}"
            yield f"  prompt: {self.wanted!r}…"
            yield f"  stored: {self.nearest!r}…"
        for suspect in self.suspects:
            yield f"  perhaps: {suspect}"


class Inquiry:
    """A request that wants to be told why it was or was not computed. Answered by the engine's thread."""

    def __init__(self) -> None:
        self.report: dict[str, object] | None = None
        """A JSON value; None until its prompt begins."""

    @property
    def open(self) -> bool:
        return self.report is None

    def answer(self, in_memory: int, explanation: Explanation | None) -> None:
        """``in_memory`` tokens were found without looking at the disk."""
        self.report = {"in_memory": in_memory, **(asdict(explanation) if explanation is not None else {})}


def explain(
    index: Index, prompt: Prompt, piece: Callable[[int], bytes], description: Mapping[str, object]
) -> Explanation:
    """Compare ``prompt``, whose root is described like this, with what is stored nearest to it."""
    limit = prompt.length - 1
    steps = longest_chain(index, prompt, 0, prompt.length)
    end = min(steps[-1].end, limit) if steps else 0
    if end >= limit:
        return Explanation(prompt.length, end, "all but the last one, which is always computed")
    wanted = prompt.tokens(end, end + _AROUND)
    stored = _stored_behind(index, prompt, end)
    elsewhere = tuple(_elsewhere(index, prompt, end, description))
    if not stored:
        reason = "what was stored ends here" if end else "nothing that begins like it is stored"
        return Explanation(prompt.length, end, reason, suspects=elsewhere)
    common = prompt.tokens(max(0, end - _AROUND), end)
    before, ours, theirs = (_text(tokens, piece) for tokens in (common, wanted, stored))
    return Explanation(
        prompt.length,
        end,
        f"token {end + 1} is another one",
        common=before,
        wanted=ours,
        nearest=theirs,
        suspects=(*_suspects(before, ours, theirs), *elsewhere),
    )


def _stored_behind(index: Index, prompt: Prompt, end: int) -> bytes:
    """What the nearest stored text goes on with."""
    start = end // prompt.block_tokens * prompt.block_tokens
    parent = prompt.parent_of(start)
    wanted = prompt.tokens(start, min(start + prompt.block_tokens, prompt.length))
    entry = nearest(index, parent, wanted)
    if entry is None:
        return b""
    found = entry.block.tokens[common_tokens(entry.block.tokens, wanted) * TOKEN_BYTES :]
    while len(found) < _AROUND * TOKEN_BYTES and (entry := index.after(entry.key, b"")) is not None:
        found += entry.block.tokens
    return found[: _AROUND * TOKEN_BYTES]


def _text(tokens: bytes, piece: Callable[[int], bytes]) -> str:
    return b"".join(map(piece, decode(tokens))).decode(errors="replace")


def _suspects(common: str, wanted: str, stored: str) -> Iterator[str]:
    sides = [common[-24:] + wanted, common[-24:] + stored]
    if all(_TIME.search(side) for side in sides):
        yield "a date or time that changes: put it behind what stays the same"
    elif all(_IDENTIFIER.search(side) for side in sides):
        yield "an identifier that changes with each request: put it behind what stays the same"
    keys = [_KEY.findall(side) for side in sides]
    if keys[0] and keys[1] and keys[0] != keys[1] and set(keys[0]) & set(keys[1]):
        yield "JSON whose keys come in another order: sort them"
    if wanted.split() and wanted.split()[:2] == stored.split()[:2]:
        yield "white space"
    elif wanted[:12].lower() == stored[:12].lower() and wanted[:12] != stored[:12]:
        yield "capital letters"


def _elsewhere(index: Index, prompt: Prompt, end: int, mine: Mapping[str, object]) -> Iterator[str]:
    """Where more of the same text is stored, but for somebody or something else."""
    for key, text in index.run("SELECT key, description FROM root WHERE key != ?", (prompt.root,)):
        theirs = json.loads(text)
        other = Prompt(key, prompt.encoded, int(theirs.get("block_tokens", prompt.block_tokens)))
        steps = longest_chain(index, other, 0, prompt.length)
        if not steps or steps[-1].end <= end:
            continue
        yield f"{steps[-1].end:,} tokens of it are stored {_difference(mine, theirs)}"


def _difference(mine: Mapping[str, object], theirs: Mapping[str, object]) -> str:
    if mine.get("model") != theirs.get("model"):
        return f"for the model {theirs.get('model')}"
    a, b = mine.get("namespace"), theirs.get("namespace")
    if isinstance(a, dict) and isinstance(b, dict) and a != b:
        names = sorted(name for name in {*a, *b} if a.get(name) != b.get(name))
        changes = ", ".join(f"{name} {b.get(name)} instead of {a.get(name)}" for name in names)
        return f"with other settings ({changes})"
    if mine.get("block_tokens") != theirs.get("block_tokens"):
        return f"in blocks of {theirs.get('block_tokens')} tokens"
    return "for another tenant"
