"""The form of hooks: what the specifications ask for, and what is wrong with an implementation.

pluggy alone lets a misspelt hook pass until ``check_pending``, which names one plugin and stops there, and
never passes arguments that have a default value. Here each plugin is looked at on its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from inspect import Parameter
from types import MappingProxyType

import pluggy

from reame_core import hookspecs
from reame_core.plugins.lifetimes import Lifetime
from reame_core.plugins.names import did_you_mean, listing


@cache
def hook_arguments() -> Mapping[str, tuple[str, ...]]:
    """The arguments of each hook, in the specification's order."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    return MappingProxyType(
        {
            name: tuple(inspect.signature(getattr(hookspecs, name)).parameters)
            for name in vars(hookspecs)
            if manager.parse_hookspec_opts(hookspecs, name) is not None
        }
    )


@cache
def lifetimes() -> Mapping[str, Lifetime]:
    """Since when there is each hook, and what of it is deprecated."""
    return MappingProxyType({name: getattr(hookspecs, name).reame_lifetime for name in hook_arguments()})


def deprecations(plugin: object) -> list[str]:
    """What ``plugin`` uses and will have to do without, one line each."""
    found = []
    for hook, impl in _implementations(plugin):
        lifetime = lifetimes().get(hook)
        if lifetime is None:
            continue
        if lifetime.deprecated is not None:
            found.append(lifetime.deprecated.sentence(f"hook {hook!r}"))
        found += [
            lifetime.arguments[argument].sentence(f"argument {argument!r} of hook {hook!r}")
            for argument in impl.argnames
            if argument in lifetime.arguments
        ]
    return found


def problems(plugin: object) -> list[str]:
    """What is wrong with the hooks of ``plugin``, one line each; empty when it may be registered."""
    impls = _implementations(plugin)
    if not impls:
        return [_no_hooks(plugin)]
    return [
        f"hook {hook!r}: {problem}" if hook in hook_arguments() else problem
        for hook, impl in impls
        for problem in _problems_of(plugin, hook, impl)
    ]


def _implementations(plugin: object) -> list[tuple[str, pluggy.HookImpl]]:
    # Without specifications pluggy checks nothing, and it finds what is marked in the same way as later.
    probe = pluggy.PluginManager(hookspecs.PROJECT)
    probe.register(plugin)
    callers = probe.get_hookcallers(plugin) or []
    return [(caller.name, impl) for caller in callers for impl in caller.get_hookimpls()]


def _problems_of(plugin: object, hook: str, impl: pluggy.HookImpl) -> Iterator[str]:
    allowed = hook_arguments().get(hook)
    if allowed is None:
        if not impl.optionalhook:
            yield f"{hook!r} is no hook of Reame{did_you_mean(hook, hook_arguments())}"
        return
    if impl.wrapper or impl.hookwrapper:
        yield "hook wrappers are not possible, implement the hook itself"
        return
    if inspect.iscoroutinefunction(impl.function):
        yield "an async function cannot be a hook, the engine does not await"
    elif inspect.isgeneratorfunction(impl.function) or inspect.isasyncgenfunction(impl.function):
        yield "a generator cannot be a hook, return the answer instead of yielding it"
    for parameter in inspect.signature(impl.function).parameters.values():
        if problem := _problem_of_argument(plugin, parameter, allowed):
            yield problem


def _problem_of_argument(plugin: object, parameter: Parameter, allowed: tuple[str, ...]) -> str:
    name = parameter.name
    if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        return f"{str(parameter)!r} would always be empty, name the arguments you want of {_signature(allowed)}"
    if name == "self" and inspect.isclass(plugin):
        return f"{plugin.__name__} is a class, make an instance of it the plugin"
    if name not in allowed:
        return f"there is no argument {name!r}{did_you_mean(name, allowed)} (arguments: {listing(allowed)})"
    if parameter.default is not Parameter.empty:
        return f"argument {name!r} has a default value and would never be passed, remove the default"
    if parameter.kind is Parameter.KEYWORD_ONLY:
        return f"argument {name!r} is keyword-only, but hooks are called by position"
    return ""


def _no_hooks(plugin: object) -> str:
    unmarked = [name for name in hook_arguments() if callable(getattr(plugin, name, None))]
    reason = f" ({listing(unmarked)} is not marked)" if unmarked else ""
    return f"it has no hooks{reason}, mark its functions with @hookimpl from reame_core.hookspecs"


def _signature(arguments: tuple[str, ...]) -> str:
    return f"({', '.join(arguments)})"
