"""Judges by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from reame_conclave.judges.answer import Judge
from reame_conclave.judges.auto import Auto
from reame_conclave.judges.json_value import JsonValue
from reame_conclave.judges.marker import Marker
from reame_conclave.judges.numbers import LastNumber
from reame_conclave.judges.prose import Prose
from reame_conclave.judges.texts import ChoiceLetter, ExactText

JUDGES: Mapping[str, Callable[[], Judge]] = MappingProxyType(
    {
        "auto": Auto,
        "marker": Marker,
        "number": LastNumber,
        "choice": ChoiceLetter,
        "json": JsonValue,
        "text": ExactText,
        "prose": Prose,
    }
)
