"""Answers by a pattern of the caller's. RE2 matches in linear time, so no pattern and no text can hold up a
server, as the backtracking of Python's own expressions could."""

from __future__ import annotations

import re2

from reame_conclave.judges.answer import Answer
from reame_conclave.judges.markup import READ
from reame_conclave.judges.values import value_of
from reame_core.errors import InvalidRequest

LONGEST_PATTERN = 500
"""Characters."""
_MEMORY = 4 << 20
"""Bytes that a compiled pattern may take."""


class Pattern:
    """Votes by the last match: by its first group, or all of it where there is none. Raises InvalidRequest,
    whose ``param`` is the caller's name of the pattern, for one that RE2 does not take."""

    name = "pattern"

    def __init__(self, pattern: str, param: str) -> None:
        if len(pattern) > LONGEST_PATTERN:
            raise InvalidRequest(
                f"{param} has {len(pattern)} characters, at most {LONGEST_PATTERN} are possible", param=param
            )
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MEMORY
        try:
            self._pattern = re2.compile(pattern, options)
        except re2.error as error:
            reason = error.args[0] if error.args else error
            shown = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
            raise InvalidRequest(
                f"{param} is no pattern of RE2 (which has no look-around and no back references): {shown}",
                param=param,
            ) from None

    def read(self, text: str) -> Answer | None:
        last = None
        for match in self._pattern.finditer(text[-READ:]):
            last = match
        if last is None:
            return None
        said = last.group(1) if last.re.groups else last.group(0)
        return value_of(said) if said else None
