"""What an index says about the cache, for people and programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from reame_diskkv.chain import TOKEN_BYTES
from reame_diskkv.index import Index


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What the chains of one root take."""

    model: str
    settings: dict[str, str]
    shared: bool
    """False for the chains of one tenant."""
    blocks: int
    tokens: int
    raw_bytes: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Chain:
    """The end of a stored text."""

    key: str
    model: str
    tokens: int
    """From the beginning of the text to here."""
    file_bytes: int
    """Of the last block."""
    used: float
    pinned: bool


def totals(index: Index) -> dict[str, Any]:
    """All blocks together."""
    found = asdict(index.total())
    [[pinned]] = index.run("SELECT count(*) FROM block WHERE pins > 0")
    return found | {"index_bytes": index.own_bytes, "pinned": pinned}


def by_model(index: Index) -> list[ModelUse]:
    """The largest first."""
    rows = index.run(
        "SELECT root.description, count(*), sum(length(tokens)), sum(raw_bytes), sum(file_bytes) "
        "FROM block LEFT JOIN root ON root.key = block.root GROUP BY block.root ORDER BY 5 DESC"
    )
    return [
        ModelUse(
            str(described.get("model", "unknown")),
            dict(described.get("namespace", {})),
            bool(described.get("shared", True)),
            blocks,
            size // TOKEN_BYTES,
            raw,
            file,
        )
        for described, blocks, size, raw, file in ((_description(row[0]), *row[1:]) for row in rows)
    ]


def days(index: Index, most: int) -> list[dict[str, Any]]:
    """What was written and read on each day, the latest first."""
    rows = index.database.query("SELECT * FROM day ORDER BY day DESC LIMIT ?", [most])
    return [dict(row) for row in rows]


def chains(index: Index, most: int) -> Iterator[Chain]:
    """Ends of stored texts, the one used last first."""
    rows = index.run(
        "SELECT block.key, root.description, start, length(tokens), file_bytes, block.used, pins FROM block "
        "LEFT JOIN root ON root.key = block.root WHERE children = 0 ORDER BY block.used DESC LIMIT ?",
        (most,),
    )
    for key, description, start, size, file_bytes, used, pins in rows:
        model = str(_description(description).get("model", "unknown"))
        yield Chain(key.hex(), model, start + size // TOKEN_BYTES, file_bytes, used, pins > 0)


def _description(text: str | None) -> dict[str, Any]:
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}
