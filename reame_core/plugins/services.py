"""What plugins do for one request: the ``serve_fields`` hook, asked for HTTP and for the command line."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from reame_core.errors import InvalidRequest
from reame_core.plugins.api import ApiRequest, FieldService

if TYPE_CHECKING:
    from reame_core.engine.request import Request, SamplingParams
    from reame_core.plugins.api import ConstraintMaker, MessageChange
    from reame_core.plugins.manager import PluginManager

log = logging.getLogger("reame.plugins")

T = TypeVar("T")
HEADER_PREFIX = "x-reame-"


def own_headers(told: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Those of ``told`` that belong to Reame, as one line of printable ASCII each."""
    named = [(str(name).lower(), str(value)) for headers in told for name, value in headers.items()]
    return {
        name: "".join(each if " " <= each <= "~" else "?" for each in value)
        for name, value in named
        if name.startswith(HEADER_PREFIX)
    }


def needs_plugin(what: str, plugin: str) -> str:
    """The sentence for ``what`` nobody serves."""
    return f"{what} needs the plugin {plugin!r} (the package reame-{plugin}), which is not used here"


@dataclass(frozen=True, slots=True)
class Services:
    """What plugins do for one request."""

    by_plugin: Mapping[str, FieldService] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """What the client asked of each, by the names of the fields."""
    endpoint: str = ""
    """Where it asked; see ``ApiRequest``."""

    def new_extra(self) -> dict[str, object]:
        """``Request.extra`` for the next prompt of the request."""
        made = {
            name: service.extra if service.extra_for_prompt is None else service.extra_for_prompt()
            for name, service in self.by_plugin.items()
        }
        return {name: extra for name, extra in made.items() if extra is not None}

    def applied_to(self, request: Request) -> Request:
        """``request`` as the plugins want it. Once for each prompt, in their order."""
        sampling = self.sampling(request.sampling)
        return replace(
            request,
            n=self.candidates or request.n,
            sampling_by_choice=sampling,
            select=self.candidates is not None,
            wave=self.wave,
            constraint=self.constraint,
            extra=self.new_extra(),
        )

    @property
    def tools(self) -> list[Mapping[str, object]]:
        return [tool for service in self.by_plugin.values() for tool in service.tools]

    @property
    def message_changes(self) -> list[MessageChange]:
        return [service.messages for service in self._services if service.messages is not None]

    @property
    def candidates(self) -> int | None:
        return next((s.candidates for s in self._services if s.candidates is not None), None)

    @property
    def wave(self) -> int | None:
        return next((s.wave for s in self._services if s.candidates is not None), None)

    def sampling(self, wanted: SamplingParams) -> tuple[SamplingParams, ...]:
        """``Request.sampling_by_choice`` where ``wanted`` is what the request asks for."""
        return next(
            (tuple(s.sampling(wanted)) for s in self._services if s.candidates is not None and s.sampling), ()
        )

    @property
    def constraint(self) -> ConstraintMaker | None:
        return next((s.constraint for s in self._services if s.constraint is not None), None)

    @property
    def _services(self) -> list[FieldService]:
        return list(self.by_plugin.values())

    def reports(self) -> dict[str, object]:
        """What plugins tell about the answer, at its end. One that fails tells nothing."""
        return self._told(lambda service: service.report)

    def headers(self) -> dict[str, str]:
        """Headers of the response, at the end of the answer. Only names that belong to Reame."""
        return own_headers(self._told(lambda service: service.headers).values())

    def notes(self) -> list[str]:
        """Lines for people, at the end of the answer."""
        told = self._told(lambda service: service.notes).values()
        return [str(note) for notes in told for note in notes]

    def _told(self, teller: Callable[[FieldService], Callable[[], T] | None]) -> dict[str, T]:
        told: dict[str, T] = {}
        for name, service in self.by_plugin.items():
            tell = teller(service)
            if tell is None:
                continue
            try:
                told[name] = tell()
            except Exception:
                log.exception("the report of plugin %r failed", name)
        return told


def ask_plugins(plugins: PluginManager, request: ApiRequest) -> tuple[Services, dict[str, Any]]:
    """Who serves which fields of ``request``, and the fields that nobody serves. Raises InvalidRequest."""
    left_over = dict(request.fields)
    found: dict[str, FieldService] = {}
    asked: dict[str, dict[str, object]] = {}
    for plugin, call in plugins.hook("serve_fields").calls if left_over else ():
        service = call(replace(request, fields=dict(left_over)))
        if service is None:
            continue
        if not isinstance(service, FieldService):
            log.warning("plugin %r: serve_fields answered no FieldService", plugin)
            continue
        found[plugin] = service
        asked[plugin] = {name: left_over.pop(name) for name in service.fields if name in left_over}
    return _together(Services(found, asked, request.endpoint), request), left_over


def _together(services: Services, request: ApiRequest) -> Services:
    constraining = [name for name, service in services.by_plugin.items() if service.constraint is not None]
    if len(constraining) > 1:
        raise InvalidRequest(f"the plugins {' and '.join(constraining)} cannot both constrain an answer")
    if services.candidates is not None and request.n != 1:
        raise InvalidRequest("n must be 1 where a winner is chosen among candidates", param="n")
    return services
