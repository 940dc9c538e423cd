"""Chat templates: from messages to the text a model was trained to continue.

A template comes from the model's GGUF file (``tokenizer.chat_template``, jinja2). It is rendered in a
sandbox with what Hugging Face's transformers offer to templates. Two things that many templates cannot do
are found out by rendering a probe, and done for them:

- a template that refuses or drops system messages gets each system text at the head of the next user
  message, an empty line between them;
- a template that reads contents only as lists of parts gets lists of parts.

Without a usable template, ChatML is used where the vocabulary has ``<|im_start|>``, else a plain
``### User:`` form; ``note`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from reame_core.errors import InvalidRequest, ModelError
from reame_core.models.fallback_templates import CHATML, CHATML_MARK, PLAIN, PLAIN_STOPS
from reame_core.models.messages import (
    Message,
    normalise,
    with_arguments_as_text,
    with_parts,
    with_system_in_user_turns,
)
from reame_core.models.wording import printable

if TYPE_CHECKING:
    import jinja2

    from reame_core.engine.backend import ModelInfo

_OURS = ("messages", "tools", "add_generation_prompt", "bos_token", "eos_token")
_PROBE_SYSTEM, _PROBE_USER = "qpwoeirutysystem", "qpwoeirutyuser"


class ChatTemplate:
    """One template, compiled. Any thread may render.

    ``note`` is empty, or a sentence for the log about a fallback; ``stops`` are texts that end an answer
    where no token does. Raises ModelError where ``source`` is no jinja2 template.
    """

    def __init__(
        self,
        source: str,
        bos_text: str = "",
        eos_text: str = "",
        *,
        note: str = "",
        stops: tuple[str, ...] = (),
    ) -> None:
        self.source = source
        self.bos_text = bos_text
        self.eos_text = eos_text
        self.note = note
        self.stops = stops
        self._template = _compiled(source)

    @classmethod
    def for_model(cls, info: ModelInfo) -> ChatTemplate:
        """The model's own template, or the fallback that fits its vocabulary."""
        reason = "the model has no chat template"
        if info.chat_template and info.chat_template.strip():
            try:
                return cls(info.chat_template, info.bos_text, info.eos_text)
            except ModelError as error:
                reason = str(error)
        if CHATML_MARK in info.special_tokens:
            note = f"{reason}; the ChatML form is used instead"
            return cls(CHATML, info.bos_text, info.eos_text, note=note)
        note = f"{reason}; turns are marked with '### User:' and '### Assistant:' instead"
        return cls(PLAIN, info.bos_text, info.eos_text, note=note, stops=PLAIN_STOPS)

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[object] | None = None,
        **extra: object,
    ) -> str:
        """The text of the whole conversation. ``extra`` are further variables of the template.
        Raises InvalidRequest for messages that cannot be rendered, with the template's own reason."""
        return self.fill(
            self.prepare(messages), add_generation_prompt=add_generation_prompt, tools=tools, extra=extra
        )

    def prepare(self, messages: Sequence[Mapping[str, object]]) -> list[Message]:
        """Checked copies of ``messages`` in the form this template reads."""
        prepared = normalise(messages)
        if self._drops_system and any(message["role"] == "system" for message in prepared):
            prepared = with_system_in_user_turns(prepared)
        return with_parts(prepared) if self._reads_parts else prepared

    def fill(
        self,
        prepared: Sequence[Message],
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[object] | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> str:
        """Render what ``prepare`` gave."""
        ours = sorted(set(extra or ()) & set(_OURS))
        if ours:
            raise InvalidRequest(f"{ours[0]} is no extra variable of a chat template", param=ours[0])
        variables = {
            **(extra or {}),
            "tools": tools or None,
            "add_generation_prompt": add_generation_prompt,
            "bos_token": self.bos_text,
            "eos_token": self.eos_text,
        }
        try:
            return _rendered(self._template, prepared, variables)
        except InvalidRequest:
            # some templates concatenate the arguments of tool calls, which nearly all others serialise
            as_text = with_arguments_as_text(prepared)
            if as_text == prepared:
                raise
            return _rendered(self._template, as_text, variables)

    @cached_property
    def _reads_parts(self) -> bool:
        probe: list[Message] = [{"role": "user", "content": _PROBE_USER}]
        return not self._shows(probe, _PROBE_USER) and self._shows(with_parts(probe), _PROBE_USER)

    @cached_property
    def _drops_system(self) -> bool:
        probe: list[Message] = [
            {"role": "system", "content": _PROBE_SYSTEM},
            {"role": "user", "content": _PROBE_USER},
        ]
        merged = with_system_in_user_turns(probe)
        if self._reads_parts:
            probe, merged = with_parts(probe), with_parts(merged)
        both = (_PROBE_SYSTEM, _PROBE_USER)
        return not self._shows(probe, *both) and self._shows(merged, *both)

    def _shows(self, prepared: list[Message], *texts: str) -> bool:
        try:
            rendering = self.fill(prepared)
        except InvalidRequest:
            return False
        return all(text in rendering for text in texts)


def _compiled(source: str) -> jinja2.Template:
    import jinja2

    from reame_core.models.jinja_environment import environment

    try:
        return environment().from_string(source)
    except jinja2.TemplateAssertionError as error:
        raise ModelError(f"the model's chat template cannot be used: {printable(error.message)}") from None
    except jinja2.TemplateSyntaxError as error:
        raise ModelError(f"the model's chat template has an error in line {error.lineno}") from None
    except (RecursionError, MemoryError):
        raise ModelError("the model's chat template is nested too deeply") from None


def _rendered(template: jinja2.Template, messages: Sequence[Message], variables: Mapping[str, object]) -> str:
    import jinja2

    from reame_core.models.jinja_environment import TemplateRefusal

    failed = "the model's chat template cannot render these messages"
    try:
        return template.render(messages=messages, **variables)
    except TemplateRefusal as refusal:
        raise InvalidRequest(printable(refusal), param="messages") from None
    except jinja2.UndefinedError as error:
        raise InvalidRequest(f"{failed}: {printable(error)}", param="messages") from None
    except Exception as error:
        raise InvalidRequest(f"{failed} ({type(error).__name__})", param="messages") from None
