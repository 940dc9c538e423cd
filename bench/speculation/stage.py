"""Requests to a whole Reame with its plugins, in this process, and what they took."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from bench.subject import Subject
from reame_core.config import Settings
from reame_core.config.schema import Config, EngineSettings, ModelSettings, PluginSettings
from reame_core.engine.event_stream import EventStream
from reame_core.engine.events import Failed, Finished, TextDelta
from reame_core.engine.request import Request, SamplingParams
from reame_core.models.gguf import parameters, read_header
from reame_core.plugins.selection import PluginSelection
from reame_core.session import Session, open_session

LOOKUPS = ("palimpsest", "prompt-lookup")
_LARGE = 10**9
_SMALL = 3 * 10**8


@dataclass(frozen=True, slots=True)
class Told:
    """One answer."""

    tokens: tuple[int, ...]
    generated: int
    """Tokens that the model generated, also those that were not delivered, as the one that ends an answer."""
    text: str
    decode: float
    """Seconds from the first token to the last."""
    whole: float
    """Seconds from submission to the end."""
    drafts: Mapping[str, tuple[int, int]]
    """(drafted, accepted) tokens by source."""
    asking: float
    """Seconds that sources were asked for drafts."""
    first: int
    """Tokens that came first, with the last batch of the prompt: one, or as many as were drafted for it."""

    @property
    def rate(self) -> float:
        """Tokens a second after the first ones."""
        return (self.generated - self.first) / self.decode if self.decode else float("inf")

    @property
    def whole_rate(self) -> float:
        """Tokens a second of the whole request."""
        return self.generated / self.whole

    @property
    def accepted(self) -> int:
        return sum(accepted for _, accepted in self.drafts.values())


class Stage(Subject):
    """A model file, and sessions with it."""

    @property
    def class_(self) -> Literal["small", "medium", "large"]:
        """SmolLM2-135M and the like, 0.5B, or 1.5B and more."""
        size = parameters(read_header(self.path))
        return "large" if size >= _LARGE else "small" if size < _SMALL else "medium"

    @contextmanager
    def session(
        self,
        folder: Path,
        *,
        model: Path | None = None,
        plugins: Sequence[str] = LOOKUPS,
        tables: Mapping[str, Mapping[str, Any]] | None = None,
        exact: bool = False,
        parallel: int = 1,
    ) -> Iterator[Talk]:
        """Reame with ``plugins``, whose archive is in ``folder``."""
        table = {"palimpsest": {"folder": str(folder)}} if "palimpsest" in plugins else {}
        options = cast(dict[str, dict[str, Any]], {**table, **(tables or {})})
        buffers = cast(Literal["off", "auto"], self.conditions.buffers)
        settings = Settings(
            Config(
                model=ModelSettings(threads=self.conditions.threads),
                engine=EngineSettings(exact=exact, extra_buffers=buffers, parallel=parallel),
                plugins=PluginSettings(tables=options),
            )
        )
        selection = PluginSelection(only=tuple(plugins), strict=True)
        path = str(model or self.path)
        with open_session(settings, path, selection=selection, progress=self.progress) as session:
            yield Talk(session)


@contextmanager
def archive_folder() -> Iterator[Path]:
    """An empty folder for an archive, gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


class Talk:
    """Requests to one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.ask("Say hello.", 8, keep=False)  # reads the weights in

    def request(
        self,
        question: str,
        tokens: int,
        *,
        drafts: bool = True,
        keep: bool = True,
        temperature: float = 0.0,
        seed: int | None = None,
        ends: bool = False,
    ) -> Request:
        """A chat of one turn whose answer has exactly so many ``tokens``, or with ``ends`` as many as the model
        likes up to that. Without ``keep`` it is not archived."""
        return Request(
            prompt=self.session.chat_tokens([{"role": "user", "content": question}]),
            max_tokens=tokens,
            ignore_end=not ends,
            speculate=drafts,
            sampling=SamplingParams(temperature=temperature, seed=seed),
            extra={} if keep else {"palimpsest": {"archive": False}},
        )

    def ask(self, question: str, tokens: int, **options: Any) -> Told:
        """One answer."""
        [told] = self.together([self.request(question, tokens, **options)])
        return told

    def together(
        self, requests: Sequence[Request], watch: Callable[[int], None] = lambda tokens: None
    ) -> list[Told]:
        """Answers to requests that are submitted at the same time. ``watch`` is told how many tokens there
        are."""
        started = time.perf_counter()
        streams = [self.session.stream(request) for request in requests]
        told = [_heard(stream, started, watch) for stream in streams]
        self._settle()
        return told

    def plain(self, question: str, tokens: int, **options: Any) -> Told:
        """The same without drafts, and not archived: what is drafted next is what was said with them."""
        return self.ask(question, tokens, drafts=False, keep=False, **options)

    def _settle(self) -> None:
        """What was said is archived by a thread of the plugin: give it the moment it needs."""
        time.sleep(0.05)

    @property
    def totals(self) -> Mapping[str, Any]:
        """What became of the drafts of each source."""
        return self.session.worker.engine.records.totals


def _heard(stream: EventStream, started: float, watch: Callable[[int], None]) -> Told:
    tokens: list[int] = []
    text = ""
    first = 0
    for event in stream:
        if isinstance(event, Failed):
            raise event.error
        if isinstance(event, TextDelta):
            tokens += event.tokens
            text += event.text
            first = first or len(event.tokens)
            watch(len(tokens))
        if isinstance(event, Finished):
            decode = event.timings.decode / 1000
            whole = (event.timings.queued + event.timings.prefill) / 1000 + decode
            usage = event.usage
            asking = sum(decisions.milliseconds for decisions in usage.decisions.values()) / 1000
            drafts = dict(usage.drafts)
            return Told(tuple(tokens), usage.completion, text, decode, whole, drafts, asking, first)
    raise RuntimeError(f"an answer broke off after {time.perf_counter() - started:.1f} s")


def same_text(result_notes: list[str], what: str, wanted: Told, found: Sequence[Told]) -> None:
    """Note whether all answers in ``found`` are ``wanted``, token for token."""
    differing = sum(told.tokens != wanted.tokens for told in found)
    result_notes.append(f"{what}: {'the same text each time' if not differing else f'{differing} OTHER TEXTS'}")


def without_drafts(request: Request) -> Request:
    """``request`` without drafts, and not archived."""
    return replace(request, speculate=False, extra={"palimpsest": {"archive": False}})
