"""What is known of questions that are under way, whatever becomes of them."""

from __future__ import annotations

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

MOST = 100_000
"""Entries: far more than questions can be under way, so that only such as nobody ever ended are lost."""


class Forgetful(dict[Key, Value]):
    """A dictionary that forgets everything before it has more than ``MOST`` entries. To forget costs a question
    that is asked anew. For any thread."""

    def __setitem__(self, key: Key, value: Value) -> None:
        if len(self) >= MOST:
            self.clear()
        super().__setitem__(key, value)
