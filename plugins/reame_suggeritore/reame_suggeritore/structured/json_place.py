"""Where in a JSON text its end stands: in which value, behind which key."""

from __future__ import annotations

from copy import copy

_NUMBER = frozenset("-+.0123456789eE")


class JsonPlace:
    """Reads JSON, possibly in the middle of another text, character by character. ``value`` is what there is of
    the string (without its quote) or number that has begun, ``key`` the latest key."""

    def __init__(self) -> None:
        self.key = ""
        self.value = ""
        self.in_string = False
        """In a string that is no key."""
        self.in_number = False
        self.expects_value = False
        """Right behind the colon of a key."""
        self._quoted = False
        self._escaped = False
        self._is_key = False
        self._objects: list[bool] = []
        """Of each open bracket whether it is an object's."""

    def after(self, text: str) -> JsonPlace:
        """The place behind ``text``, which is only tried."""
        place = copy(self)
        place._objects = list(self._objects)
        place.read(text)
        return place

    def read(self, text: str) -> list[str]:
        """Go on by ``text``; the values that ended in it."""
        ended: list[str] = []
        for char in text:
            if self._quoted:
                self._in_quotes(char, ended)
            else:
                self._outside(char, ended)
        return ended

    def _in_quotes(self, char: str, ended: list[str]) -> None:
        if char == '"' and not self._escaped:
            if self._is_key:
                self.key = self.value
            else:
                ended.append(self.value)
            self._quoted = self.in_string = False
            self.value = ""
            return
        self._escaped = char == "\\" and not self._escaped
        self.value += char

    def _outside(self, char: str, ended: list[str]) -> None:
        if self.in_number and char not in _NUMBER:
            ended.append(self.value)
            self.in_number, self.value = False, ""
        if char not in " \n":
            self.expects_value = char == ":"
        if char == '"':
            self._quoted, self._escaped = True, False
            self.in_string = not self._is_key
        elif char in "{[":
            self._objects.append(char == "{")
            self._is_key = char == "{"
        elif char in "}]":
            del self._objects[-1:]
        elif char == ",":
            self._is_key = bool(self._objects) and self._objects[-1]
        elif char == ":":
            self._is_key = False
        elif char in _NUMBER and (self.in_number or char in "-0123456789"):
            self.in_number = True
            self.value += char
