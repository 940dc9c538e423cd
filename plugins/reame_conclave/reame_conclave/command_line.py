"""The options of ``reame run``."""

from __future__ import annotations

from reame_conclave.judges.registry import JUDGES
from reame_conclave.options import FIELD, MOST
from reame_core.plugins.api import RunOption
from reame_core.plugins.names import did_you_mean, listing


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:4]) <= MOST or len(text) > 3:
        raise ValueError(f"must be a whole number from 1 to {MOST}, not {text!r}")
    return int(text)


def _judge(text: str) -> str:
    if text not in JUDGES:
        raise ValueError(f"must be one of {listing(JUDGES)}, not {text!r}{did_you_mean(text, JUDGES)}")
    return text


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"must be a share from 0 to 1, not {text!r}")
    return share


OPTIONS = (
    RunOption(
        "--best-of",
        FIELD,
        "n",
        "N",
        "Compute N answers, print the one that most agree on.",
        _count,
        choices=True,
    ),
    RunOption("--judge", FIELD, "judge", "NAME", f"How answers are compared: {listing(JUDGES)}.", _judge),
    RunOption("--min-consensus", FIELD, "min_consensus", "SHARE", "Say so where fewer agree (0 to 1).", _share),
)
