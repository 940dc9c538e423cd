"""A chat: read, answer, remember, until the user leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.cli.chat.answering import Answering
from reame_core.cli.chat.commands import Leave, run_command
from reame_core.cli.chat.options import RESET, SYSTEM
from reame_core.cli.chat.reader import Discarded
from reame_core.cli.chat.room import ContextFull, shortened_prompt, whole_prompt
from reame_core.cli.chat.saved import checked_name
from reame_core.cli.chat.status import counted, status_line
from reame_core.cli.chat.typed import is_command, message
from reame_core.cli.prompt import check_text
from reame_core.errors import ConfigError, EngineError, ReameError

if TYPE_CHECKING:
    from reame_core.cli.chat.conversation import Conversation
    from reame_core.cli.chat.display import Display
    from reame_core.cli.chat.held_log import HeldLog
    from reame_core.cli.chat.options import ChatOptions, Option
    from reame_core.cli.chat.reader import Reader
    from reame_core.cli.chat.saved import SavedChats
    from reame_core.session import Session

LEAVING = "(to leave: /bye or Ctrl-D)"


class Chat:
    """One conversation with one model. Everything happens on the thread that calls ``run``."""

    def __init__(
        self,
        session: Session,
        conversation: Conversation,
        options: ChatOptions,
        saved: SavedChats,
        display: Display,
    ) -> None:
        self.session = session
        self.conversation = conversation
        self.options: ChatOptions = options
        self.saved: SavedChats = saved
        self.display = display
        self._first_system = conversation.system
        self._name: str | None = None
        """Under which the conversation was saved or loaded."""

    @property
    def model(self) -> str:
        return self.session.info.name

    @property
    def context(self) -> int:
        """Tokens that what was said and the next answer can have together."""
        return self.session.worker.engine.options.context_length

    def run(self, reader: Reader, log: HeldLog) -> None:
        """Until the input ends or the user leaves. What cannot be done is said and forgotten."""
        while True:
            log.release()
            try:
                self._do(reader.read())
            except (Leave, EOFError):
                return
            except Discarded:
                continue
            except KeyboardInterrupt:
                self.display.remark(LEAVING)
            except ReameError as error:
                self.display.complain(str(error))

    def ask(self, question: str) -> None:
        """Answer ``question`` and remember both; where nothing comes back, only that it was asked. Raises a
        ReameError."""
        self.conversation.unanswered = question
        prompt = self._prompt(question)
        request = self.options.request(prompt, self.session.chat_stops)
        status = self.options.switched_on("status")
        answering = Answering(self.session, request, self.display, progress=status)
        answering.run()
        answer = answering.choice
        cut = answer.finished is not None and answer.finished.reason == "length"
        if answer.text:
            whole = answer.finished is not None and not cut and not answering.interrupted
            self.conversation.add(question, answer.text, partial=not whole)
        if answer.finished is not None and status:
            self.display.remark(status_line(answer.finished, self.context))
        if answer.error is not None:
            raise _as_ours(answer.error)
        if answering.interrupted:
            self._tell_of_stop(answer.text)
        elif cut and answer.finished is not None:
            self._tell_of_cut(answer.finished.usage.completion)
        elif not answer.text:
            self.display.remark("(the model answered nothing; /retry asks again)")

    def retry(self) -> None:
        """Ask the last question again; what was answered before is kept until something else comes back."""
        before = self.conversation.copy()
        question = self.conversation.unanswered or self.conversation.undo()
        if question is None:
            raise ConfigError("nothing to retry: no message has been sent yet")
        if self.options.get("temperature") == 0 and before.unanswered is None and not _was_cut(before):
            self.display.remark(
                "(at temperature 0 the same chat has the same answer; /set temperature 0.8 varies it)"
            )
        try:
            self.ask(question)
        finally:
            if self.conversation.unanswered is not None and before.unanswered is None:
                self.conversation.messages, self.conversation.unanswered = before.messages, None

    def undo(self) -> None:
        question = self.conversation.undo()
        if question is None:
            raise ConfigError("nothing to undo: no message has been answered yet")
        self.display.remark(f"(taken back: {_short(question)})")

    def clear(self) -> None:
        self.conversation.clear()
        self._name = None
        self.display.remark("(what was said is forgotten)")

    def change(self, option: Option, text: str) -> None:
        """Give a setting the value that ``text`` says. Raises ConfigError."""
        if option.name == "system":
            self.conversation.system = self._first_system if text == RESET else SYSTEM.read_text(text)
        else:
            self.options.set(option, text)

    def value(self, option: Option) -> object:
        return self.conversation.system if option.name == "system" else self.options.get(option.name)

    def save(self, name: str, *, replace: bool) -> None:
        """Raises a UsageError; another chat of that name is replaced only where that is said."""
        if not (name or self._name):
            raise ConfigError("the chat has no name yet: /save NAME")
        name = checked_name(name) if name else self._name or ""
        if not self.conversation.messages:
            raise ConfigError("nothing to save: nothing has been said yet")
        if name != self._name and not replace and self.saved.exists(name):
            raise ConfigError(f"there is a chat {name} already: take another name, or /save {name} replace")
        path = self.saved.save(name, self.conversation, {"model": self.model, **self.options.to_save()})
        self._name = name
        self.display.remark(f"(saved to {path})")

    def load(self, name: str) -> None:
        """Go on with a saved conversation and its settings. Raises a UsageError; nothing is changed then."""
        name = checked_name(name)
        found = self.saved.load(name)
        values = self.options.checked(found.fields)
        self.options.take(values)
        self.conversation = found.conversation
        self._name = name
        turns = counted(self.conversation.turns, "turn")
        self.display.remark(f"(loaded {name}: {turns}; /show history shows it)")
        model = found.fields.get("model")
        if isinstance(model, str) and model != self.model:
            self.display.remark(f"(it was held with {model})")
        if self.conversation.unanswered is not None:
            self.display.remark("(its last message has no answer; /retry asks for one)")

    def _do(self, text: str) -> None:
        check_text("the message", text, "message")
        if not text.strip():
            return
        if is_command(text):
            run_command(self, text)
            return
        question = message(text)
        if question:
            self.ask(question)

    def _prompt(self, question: str) -> tuple[int, ...]:
        if not self.options.switched_on("drop_oldest"):
            return whole_prompt(self.session.chat_tokens, self.conversation, question, self.context)
        prompt, dropped = shortened_prompt(self.session.chat_tokens, self.conversation, question, self.context)
        if dropped:
            turns = "turn is" if dropped == 1 else f"{dropped} turns are"
            self.display.remark(f"(the context is full: the oldest {turns} forgotten)")
        return prompt

    def _tell_of_stop(self, text: str) -> None:
        kept = "what was said is kept" if text else "before the first word; /retry asks again"
        self.display.remark(f"(stopped; {kept})")

    def _tell_of_cut(self, tokens: int) -> None:
        if self.options.get("max_tokens") == tokens:
            self.display.remark(f"(cut at max_tokens, {tokens})")
        else:
            self.display.remark(f"(cut: the context of {self.context} tokens is full; {ContextFull.REMEDIES})")


def _as_ours(error: Exception) -> ReameError:
    return error if isinstance(error, ReameError) else EngineError(f"{type(error).__name__}: {error}")


def _was_cut(conversation: Conversation) -> bool:
    return bool(conversation.messages) and bool(conversation.messages[-1].get("partial"))


def _short(text: str, length: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
