"""The plugins of one process: chosen, loaded, started, asked and reported on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pluggy

from reame_core import hookspecs
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.errors import ConfigError, PluginError, UsageError
from reame_core.plugins.compatibility import stated_api, unfit_api, unfit_requirement
from reame_core.plugins.discovery import Candidate, built_in, discover
from reame_core.plugins.forms import deprecations, hook_arguments, lifetimes, problems
from reame_core.plugins.guard import GuardedCall, logger, one_line, picking, tracing, warn_of_deprecations
from reame_core.plugins.names import listing, normalise
from reame_core.plugins.offers import Offers
from reame_core.plugins.report import HookCost, PluginReport, State
from reame_core.plugins.selection import EVERYTHING, RESERVED_NAMES, Names, PluginSelection, choose

if TYPE_CHECKING:
    from reame_core.plugins.api import PluginContext


TRACE_VARIABLE = "REAME_TRACE_PLUGINS"


@dataclass(slots=True)
class _Plugin:
    candidate: Candidate
    disabled: str = ""
    failed: str = ""
    api: str = ""
    deprecated: tuple[str, ...] = ()
    calls: list[GuardedCall] = field(default_factory=list)


class PluginManager:
    """Finds, chooses and loads plugins when it is made; afterwards the set of plugins is fixed.

    ``builtins`` are (name, object) pairs that are part of Reame: always on, asked after all others.
    ``entry_points`` stands in for the installed ones, ``trace`` for the environment variable
    ``REAME_TRACE_PLUGINS``. Raises PluginError for a name in ``selection`` that is unknown and, with
    ``strict``, for a plugin that cannot be used.
    """

    def __init__(
        self,
        selection: PluginSelection = EVERYTHING,
        *,
        builtins: Sequence[tuple[str, object]] = (),
        entry_points: Sequence[EntryPoint] | None = None,
        trace: bool | None = None,
    ) -> None:
        self._strict = selection.strict
        self._trace = os.environ.get(TRACE_VARIABLE, "0") not in ("", "0") if trace is None else trace
        self._started: set[str] = set()
        self._registry = pluggy.PluginManager(hookspecs.PROJECT)
        self._registry.add_hookspecs(hookspecs)
        self._built_in_names = tuple(name for name, _ in builtins)
        candidates = discover(selection.folder, entry_points)
        self._names = Names(candidates, self._built_in_names)
        self._plugins = [
            _Plugin(choice.candidate, disabled=choice.refused)
            for choice in choose(selection, candidates, self._names)
        ]
        self._plugins += [_Plugin(built_in(name, plugin)) for name, plugin in builtins]
        self._load()
        self._calls = {hook: self._freeze(hook) for hook in hook_arguments()}

    def known_names(self) -> tuple[str, ...]:
        """The names of all plugins that were found, disabled and failed ones too, built-in ones not."""
        return self._names.plugins

    def check_tables(self, names: Iterable[str]) -> dict[str, str]:
        """Which plugin each table ``[plugins.NAME]`` belongs to: {NAME: the plugin's own name}, for a table may
        be called by the distribution and in other spellings. PluginError for one that nobody would read."""
        owners: dict[str, str] = {}
        for table in names:
            owner = self._owner(table)
            if other := next((each for each in owners if owners[each] == owner), None):
                raise PluginError(f"[plugins.{other}] and [plugins.{table}] are one plugin's: keep one of them")
            owners[table] = owner
        return owners

    def _owner(self, table: str) -> str:
        found = self._names.find(table, "have a table of options")
        loaded = [each.candidate for each in self._plugins if each.calls and each.candidate in found]
        owners = [each.name for each in loaded or found]
        if len(owners) > 1:
            raise PluginError(f"[plugins.{table}] could be for several plugins: {listing(owners)}")
        return owners[0]

    def hook(self, name: str) -> GuardedHook:
        """The implementations of one hook in the order in which they are asked."""
        return GuardedHook(tuple((call.plugin, call) for call in self._calls[name] if not call.off))

    def engine_hooks(self) -> EngineHooks:
        """What the engine calls. Ask after ``startup``, so that plugins that failed there are left out."""
        return EngineHooks(**{each.name: self.hook(each.name) for each in fields(EngineHooks)})

    def startup(self, context_for: Callable[[str], PluginContext]) -> None:
        """Start every plugin with its own context. One that raises is not asked at any hook any more; with
        ``strict`` those already started are shut down and PluginError is raised, and so they are for a
        ConfigError, which is raised in any case."""
        usable = {each.candidate.name: each for each in self._plugins if each.calls and not each.failed}
        starting = [call for call in self._calls["startup"] if call.plugin in usable]
        self._started = usable.keys() - {call.plugin for call in starting}
        offers = Offers()
        for call in starting:
            plugin = usable[call.plugin]
            if plugin.failed:
                continue
            context = replace(context_for(call.plugin), offers=offers)
            try:
                call.unguarded(context)
            except Exception as error:
                call.errors += 1
                self._startup_failed(plugin, error)
            else:
                self._started.add(call.plugin)

    def shutdown(self) -> None:
        """Shut down the plugins that were started, the last one first. Does not raise; a second call does
        nothing."""
        started, self._started = self._started, set()
        for call in reversed(self._calls["shutdown"]):
            if call.plugin in started:
                call()

    def error_counts(self) -> dict[tuple[str, str], int]:
        """How many exceptions each (plugin, hook) has raised, for every hook that is implemented."""
        counts: dict[tuple[str, str], int] = {}
        for plugin in self._plugins:
            for call in plugin.calls:
                key = (call.plugin, call.hook)
                counts[key] = counts.get(key, 0) + call.errors
        return counts

    def hook_costs(self) -> list[HookCost]:
        """Of every hook that is implemented, in the order of the specifications and then in that in which
        plugins are asked. May be called by any thread."""
        return [
            _cost(call, turn, lifetimes()[hook].first_counts)
            for hook, calls in self._calls.items()
            for turn, call in enumerate(calls)
        ]

    def report(self) -> list[PluginReport]:
        """All plugins in plugin order, built-in ones last. May be called by any thread."""
        return [_report(plugin) for plugin in self._plugins]

    def _load(self) -> None:
        taken = {normalise(name): "Reame itself" for name in self._built_in_names}
        for plugin in self._plugins:
            if plugin.disabled:
                continue
            candidate = plugin.candidate
            if not candidate.built_in:
                if why := _unusable_name(candidate.name, taken):
                    self._failed(plugin, why)
                    continue
                taken[normalise(candidate.name)] = candidate.origin
            if reason := self._register(plugin):
                self._failed(plugin, *reason)

    def _register(self, entry: _Plugin) -> tuple[str, BaseException | None] | None:
        """Why it cannot be used and the exception behind that, or None."""
        candidate = entry.candidate
        # Before it is imported: what it misses in this Reame would only be an obscure ImportError.
        if unfit := unfit_requirement(candidate.origin, candidate.requirement):
            return unfit, None
        try:
            plugin = candidate.load()
            stated = stated_api(plugin)
            if unfit := unfit_api(stated):
                return unfit, None
            entry.api = str(stated or "")
            if wrong := problems(plugin):
                return "; ".join(wrong), None
            if twin := self._registry.get_name(plugin):
                return f"it is the same object as plugin {twin!r}", None
            self._registry.register(plugin, candidate.name)
            entry.deprecated = tuple(deprecations(plugin))
            warn_of_deprecations(candidate.name, candidate.origin, entry.deprecated)
        # A module that calls sys.exit() while it is imported must not end the server.
        except (Exception, SystemExit) as error:
            logger.debug("traceback of plugin %r:", candidate.name, exc_info=error)
            return one_line(error), error
        return None

    def _freeze(self, hook: str) -> list[GuardedCall]:
        """The calls of one hook: pluggy's tryfirst and trylast, and plugin order where pluggy goes by the
        order of registration."""
        registered = {each.candidate.name: each for each in self._plugins if not (each.disabled or each.failed)}
        ranks = {name: rank for rank, name in enumerate(registered)}
        impls = getattr(self._registry.hook, hook).get_hookimpls()
        calls = []
        for impl in sorted(impls, key=lambda impl: (_turn(impl), ranks[impl.plugin_name])):
            function = picking(impl.function, impl.argnames, hook_arguments()[hook])
            if self._trace:
                function = tracing(function, impl.plugin_name, hook)
            plugin = registered[impl.plugin_name]
            # A built-in hook is what the engine falls back on: nothing could take its place.
            call = GuardedCall(impl.plugin_name, hook, function, keep_on=plugin.candidate.built_in)
            plugin.calls.append(call)
            calls.append(call)
        return calls

    def _startup_failed(self, plugin: _Plugin, error: Exception) -> None:
        for call in plugin.calls:
            call.off = "startup failed"
        if isinstance(error, ConfigError):
            # A wrong setting is the user's to mend, and going on without what was asked for would hide it.
            plugin.failed = one_line(error)
            self.shutdown()
            raise error
        why = f"startup: {one_line(error)}"
        try:
            # The text of a UsageError is complete, the way to it tells nothing.
            self._failed(plugin, why, error, traceback=not isinstance(error, UsageError))
        except PluginError:
            self.shutdown()
            raise

    def _failed(
        self, plugin: _Plugin, why: str, error: BaseException | None = None, *, traceback: bool = False
    ) -> None:
        plugin.failed = why
        name, origin = plugin.candidate.name, plugin.candidate.origin
        if self._strict or plugin.candidate.built_in:
            raise PluginError(
                f"plugin {name!r} ({origin}) cannot be used: {why}"
                " (mend it, disable it or turn plugins.strict off)"
            ) from error
        logger.error("plugin %r (%s) is not used: %s", name, origin, why, exc_info=error if traceback else None)


def _unusable_name(name: str, taken: Mapping[str, str]) -> str:
    if owner := taken.get(normalise(name)):
        return f"the name {name!r} is taken by {owner}, disable or rename one of them"
    if normalise(name) in RESERVED_NAMES:
        return f"the name {name!r} is that of the setting plugins.{name}, rename it"
    return ""


def _turn(impl: pluggy.HookImpl) -> int:
    return 2 if impl.trylast else 0 if impl.tryfirst else 1


def _cost(call: GuardedCall, turn: int, first_counts: bool) -> HookCost:
    timing = call.timing
    return HookCost(
        hook=call.hook,
        plugin=call.plugin,
        turn=turn,
        first_counts=first_counts,
        calls=timing.calls,
        seconds=timing.nanoseconds / 1e9,
        mean_us=timing.mean / 1e3,
        p99_us=timing.quantile(0.99) / 1e3,
        longest_us=timing.longest / 1e3,
        errors=call.errors,
        off=call.off,
    )


def _report(plugin: _Plugin) -> PluginReport:
    calls = list(plugin.calls)
    off = {call.hook: call.off for call in calls if call.off}
    state: State = "active"
    why = ""
    if plugin.disabled:
        state, why = "disabled", plugin.disabled
    elif plugin.failed:
        state, why = "failed", plugin.failed
    elif off:
        state, why = "switched off", "; ".join(f"{hook}: {reason}" for hook, reason in off.items())
    candidate = plugin.candidate
    return PluginReport(
        name=candidate.name,
        distribution=candidate.distribution,
        version=candidate.version,
        source=candidate.source,
        hooks=tuple(dict.fromkeys(call.hook for call in calls if not call.off)),
        state=state,
        why=why,
        errors=sum(call.errors for call in calls),
        requirement=candidate.requirement,
        api=plugin.api,
        deprecated=plugin.deprecated,
    )
