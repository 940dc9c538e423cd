"""Computing prompts ahead of time, and whatever else needs a model on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reame_core.engine.events import Failed, Finished
from reame_core.engine.request import Request
from reame_core.errors import InvalidRequest, UsageError
from reame_diskkv.exporting import KEEP

if TYPE_CHECKING:
    from reame_core.config import Settings
    from reame_core.plugins.selection import PluginSelection
    from reame_core.session import Session
    from reame_diskkv.service import Service


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt as somebody wrote it."""

    text: str = ""
    system: str | None = None
    raw: bool = False
    messages: Sequence[dict[str, object]] = ()
    """A whole conversation instead."""
    name: str = ""

    def tokens(self, session: Session) -> tuple[int, ...]:
        if self.raw:
            return session.raw_tokens(self.text)
        if self.messages:
            return session.chat_tokens(list(self.messages))
        messages: list[dict[str, object]] = []
        if self.system is not None:
            messages.append({"role": "system", "content": self.system})
        if self.text:
            messages.append({"role": "user", "content": self.text})
        return session.chat_tokens(messages)


@dataclass(frozen=True, slots=True)
class Warmed:
    """A prompt that is kept now."""

    name: str
    tokens: int
    computed: int
    """How many of them had to be computed."""


def read_texts(file: Path, *, raw: bool, as_system: bool) -> list[Text]:
    """The prompts in a file. Raises UsageError."""
    try:
        content = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file}: not UTF-8 text") from None
    if file.suffix == ".json":
        return [_from_json(content, f"{file}")]
    if file.suffix == ".jsonl":
        lines = enumerate(content.splitlines(), 1)
        return [_from_json(line, f"{file}, line {number}") for number, line in lines if line.strip()]
    content = content.removesuffix("\n")
    if not content:
        raise UsageError(f"{file}: there is nothing in this file")
    if as_system:
        return [Text(system=content, name=str(file))]
    return [Text(content, raw=raw, name=str(file))]


def _from_json(content: str, where: str) -> Text:
    try:
        value: Any = json.loads(content)
    except ValueError as error:
        raise UsageError(f"{where}: no JSON: {error}") from None
    messages = value.get("messages") if isinstance(value, dict) else None
    if isinstance(messages, list) and messages and all(isinstance(each, dict) for each in messages):
        return Text(messages=messages, name=where)
    prompt = value.get("prompt") if isinstance(value, dict) else None
    if isinstance(prompt, str) and prompt:
        return Text(prompt, raw=True, name=where)
    raise UsageError(f'{where}: neither {{"messages": […]}} nor {{"prompt": "…"}}')


@contextmanager
def running(
    settings: Settings, model: str, selection: PluginSelection, progress: Callable[[str], None]
) -> Iterator[tuple[Session, Service]]:
    """A loaded model with this plugin at work. Raises UsageError where it is not."""
    from reame_core.session import open_session
    from reame_diskkv import plugin

    with open_session(settings, model, progress=progress, selection=selection) as session:
        service = plugin.service
        if service is None:
            raise UsageError(
                "the disk cache is off here: see the warnings above and plugins.diskkv.max_size_mb"
            )
        yield session, service


def warm_texts(
    settings: Settings,
    model: str,
    selection: PluginSelection,
    texts: Sequence[Text],
    progress: Callable[[str], None],
) -> list[Warmed]:
    """Compute ``texts`` and wait until they are on disk. Raises what makes one of them impossible."""
    warmed = []
    with running(settings, model, selection, progress) as (session, service):
        for text in texts:
            try:
                tokens = text.tokens(session)
                end = _end_of(session, tokens)
            except InvalidRequest as error:
                raise UsageError(f"{text.name}: {error}") from error
            warmed.append(Warmed(text.name, len(tokens), end.usage.computed))
        service.flush()
    return warmed


def _end_of(session: Session, tokens: tuple[int, ...]) -> Finished:
    for event in session.stream(warm_request(tokens)):
        if isinstance(event, Failed):
            raise event.error
        if isinstance(event, Finished):
            return event
    raise AssertionError("a request ended without saying so")


def warm_request(tokens: tuple[int, ...], tenant: str = "", *, background: bool = True) -> Request:
    """Computes a prompt for the disk and answers next to nothing."""
    return Request(
        prompt=tokens,
        max_tokens=1,
        ignore_end=True,
        speculate=False,
        background=background,
        tenant=tenant,
        extra={"diskkv": KEEP},
    )
