"""JSON anywhere in a text: followed from its first bracket, proposed as it has been."""

from __future__ import annotations

from collections.abc import Callable

from reame_suggeritore.proposals.json.memory import Memory
from reame_suggeritore.proposals.json.scanner import NotJson, Place, Scanner
from reame_suggeritore.proposals.json.writer import Writer
from reame_suggeritore.proposals.proposal import Proposal

_LABEL = "json"


class Json:
    """Reads token by token. ``enough`` tells whether an array may be complete with so many items."""

    def __init__(self, enough: Callable[[int], bool], memory: Memory | None = None) -> None:
        self._enough = enough
        self._memory = memory or Memory()
        self._scanner: Scanner | None = None
        self._line = ""
        """The text since the last line break, outside of JSON."""
        self.just_done = False
        """Whether a JSON text is complete and nothing has come behind it."""

    @property
    def active(self) -> bool:
        """Whether the last token belongs to a JSON text beyond doubt."""
        return self._scanner is not None and self._scanner.proven

    def read(self, text: str) -> None:
        """The text of one token."""
        self.just_done = False
        rest = text
        while rest:
            if self._scanner is None and not (rest := self._search(rest)):
                return
            rest = self._follow(rest)

    def _search(self, text: str) -> str:
        """The part of ``text`` from a bracket on that may begin a JSON text."""
        for at, character in enumerate(text):
            if character == "\n":
                self._line = ""
                continue
            if character == "{" or (character == "[" and not self._line.strip()):
                self._scanner = Scanner(self._memory)
                return text[at:]
            self._line += character
        return ""

    def _follow(self, text: str) -> str:
        assert self._scanner is not None
        try:
            rest = self._scanner.read(text)
        except NotJson:
            self._line += text.rpartition("\n")[2]
            self._scanner = None
            return ""
        if self._scanner.place is Place.DONE:
            self.just_done = self._scanner.proven and not rest
            self._scanner = None
        return rest

    def propose(self) -> Proposal | None:
        """How the JSON text that has begun goes on. ``end`` says that it is complete then."""
        if self._scanner is None:
            return None
        found = Writer(self._scanner, self._enough).go_on(self._scanner)
        if found is None:
            return None
        coming, basis = found
        return Proposal(coming.text, coming.confidence, _LABEL + basis, coming.samples, coming.done)
