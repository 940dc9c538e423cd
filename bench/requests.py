"""Requests driven through the engine's step loop, with the time of every token."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise

from reame_core.engine.engine import Engine
from reame_core.engine.events import Event, Failed
from reame_core.engine.request import Request


class Watched:
    """A request that generates ``tokens`` greedy tokens whatever they are; with ``reuse`` only what is not in
    memory is computed. Times in seconds."""

    def __init__(self, engine: Engine, prompt: tuple[int, ...], tokens: int, *, reuse: bool = False) -> None:
        self._engine = engine
        self._failures: list[Exception] = []
        self.submitted = time.perf_counter()
        self.token_times: list[float] = []
        request = Request(prompt=prompt, max_tokens=tokens, ignore_end=True, reuse=reuse)
        self._group = engine.submit(request, self._take)

    def _take(self, events: list[Event]) -> None:
        self._failures += [event.error for event in events if isinstance(event, Failed)]

    def look(self, now: float) -> None:
        """Note the tokens that the last step has added."""
        if self._failures:
            raise self._failures[0]
        fresh = self._group.sequences[0].generated - len(self.token_times)
        self.token_times += [now] * fresh

    @property
    def tokens(self) -> list[int]:
        """What was generated so far."""
        sequence = self._group.sequences[0]
        return [int(token) for token in sequence.tokens[sequence.prompt_length :]]

    def cancel(self) -> None:
        self._engine.cancel(self._group)

    @property
    def prefill(self) -> float:
        """From submission to the first token."""
        return self.token_times[0] - self.submitted

    @property
    def decode(self) -> float:
        """From the first token to the last."""
        return self.token_times[-1] - self.token_times[0]

    @property
    def per_token(self) -> float:
        return self.decode / (len(self.token_times) - 1)

    @property
    def gaps(self) -> list[float]:
        """Between one token and the next."""
        return [after - before for before, after in pairwise(self.token_times)]


def run(engine: Engine, watched: Sequence[Watched], until: Callable[[], bool] = lambda: False) -> float:
    """Step until everything is done or ``until`` says so; the seconds that took."""
    started = time.perf_counter()
    while not engine.idle and not until():
        engine.step()
        now = time.perf_counter()
        for one in watched:
            one.look(now)
    return time.perf_counter() - started


def alone(engine: Engine, prompt: tuple[int, ...], tokens: int) -> Watched:
    """One request from start to end."""
    watched = Watched(engine, prompt, tokens)
    run(engine, [watched])
    return watched
