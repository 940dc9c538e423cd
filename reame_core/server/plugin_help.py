"""Which requests plugins have helped: the ones answered in part from what a plugin restored, drafted, knew or
served. Everything here runs on the event loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_core.engine.events import Finished

RAM = "ram"
"""The one source of cells that is no plugin."""
_LATEST = 5


@dataclass(slots=True)
class Helped:
    """What one plugin has done for requests since the server started."""

    requests: dict[str, int] = field(default_factory=dict)
    """By how: ``restored``, ``drafted``, ``recalled``, ``served``; a request may count in several of them."""
    restored_tokens: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    latest: deque[str] = field(default_factory=lambda: deque(maxlen=_LATEST))
    """Ids of requests, the newest last; they are in the log and in ``x-request-id``."""


class PluginHelp:
    """By plugin."""

    def __init__(self) -> None:
        self.by_plugin: dict[str, Helped] = {}

    def answered(self, request: str, choices: Iterable[Finished], served: Iterable[str] = ()) -> None:
        """The request with the id ``request`` was answered by ``choices``; plugins named in ``served`` took
        care of fields of it."""
        ways: dict[str, set[str]] = {plugin: {"served"} for plugin in served}
        for choice in choices:
            if choice.recalled is not None:
                ways.setdefault(choice.recalled.plugin, set()).add("recalled")
            self._count(choice.usage.drafts, choice.usage.reused, ways)
        for plugin, how in ways.items():
            helped = self.of(plugin)
            helped.latest.append(request)
            for way in how:
                helped.requests[way] = helped.requests.get(way, 0) + 1

    def of(self, plugin: str) -> Helped:
        """Of one that may have done nothing yet."""
        return self.by_plugin.setdefault(plugin, Helped())

    def _count(
        self, drafts: Mapping[str, tuple[int, int]], reused: Mapping[str, int], ways: dict[str, set[str]]
    ) -> None:
        for plugin, (drafted, accepted) in drafts.items():
            helped = self.of(plugin)
            helped.drafted_tokens += drafted
            helped.accepted_tokens += accepted
            if accepted:
                ways.setdefault(plugin, set()).add("drafted")
        for plugin, tokens in reused.items():
            if plugin != RAM and tokens:
                self.of(plugin).restored_tokens += tokens
                ways.setdefault(plugin, set()).add("restored")
