"""What has been said, as it is sent to the model."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

Message = dict[str, object]

PARTIAL = "partial"
"""Marks an answer that was stopped or cut. The model sees its text like that of any other."""


@dataclass(slots=True)
class Conversation:
    """Messages in the form of the OpenAI API. A turn is a message of the user with all that follows it up to
    the next one."""

    system: str | None = None
    """Instructions that come before everything."""
    messages: list[Message] = field(default_factory=list)
    unanswered: str | None = None
    """The last question, where no word came back: it is in no turn, and can be asked again."""

    @property
    def turns(self) -> int:
        return len(self._questions())

    def everything(self) -> list[Message]:
        """All messages, the instructions first."""
        before: list[Message] = [] if self.system is None else [{"role": "system", "content": self.system}]
        return [*before, *self.messages]

    def with_question(self, question: str) -> list[Message]:
        """What to send for an answer to ``question``."""
        return [*self.everything(), {"role": "user", "content": question}]

    def add(self, question: str, answer: str, *, partial: bool) -> None:
        """A turn that is over."""
        said: Message = {"role": "assistant", "content": answer}
        if partial:
            said[PARTIAL] = True
        self.messages += [{"role": "user", "content": question}, said]
        self.unanswered = None

    def undo(self) -> str | None:
        """Take the last turn back. Returns its question; None where there is none."""
        starts = self._questions()
        if not starts:
            return None
        question = str(self.messages[starts[-1]]["content"])
        del self.messages[starts[-1] :]
        return question

    def drop_oldest(self) -> bool:
        """Forget the oldest turn, and whatever came before it. False where there is none."""
        starts = self._questions()
        if not starts:
            return False
        del self.messages[: starts[1] if len(starts) > 1 else None]
        return True

    def clear(self) -> None:
        """Begin anew, with the same instructions. An unanswered question stays."""
        self.messages.clear()

    def copy(self) -> Conversation:
        return deepcopy(self)

    def _questions(self) -> list[int]:
        """Where the turns begin."""
        return [place for place, message in enumerate(self.messages) if message["role"] == "user"]
