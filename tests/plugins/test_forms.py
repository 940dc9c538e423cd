from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import pytest

from reame_core.hookspecs import hookimpl
from reame_core.plugins.forms import hook_arguments, problems


def module(**functions: Any) -> ModuleType:
    made = ModuleType("made")
    vars(made).update(functions)
    return made


def test_the_hooks_and_their_arguments() -> None:
    arguments = hook_arguments()
    assert list(arguments) == [
        "startup",
        "shutdown",
        "on_prefill",
        "propose_draft",
        "price_drafts",
        "compute_drafts",
        "verify",
        "select_winner",
        "persist",
        "register_routes",
        "serve_fields",
        "recall_answer",
        "keep_answer",
        "metrics",
        "run_options",
        "register_commands",
        "register_models",
    ]
    assert arguments["verify"] == ("sequence", "draft", "logits", "chooser")
    assert arguments["shutdown"] == ()


class Good:
    @hookimpl
    def propose_draft(self, limit, sequence): ...

    @hookimpl(trylast=True)
    def verify(self, draft): ...

    @hookimpl(specname="persist")
    def keep(self, /, stage): ...

    @staticmethod
    @hookimpl
    def startup(context): ...

    @classmethod
    @hookimpl
    def shutdown(cls): ...

    @hookimpl(optionalhook=True)
    def a_hook_of_later_versions(self, anything): ...


def test_every_way_to_write_a_hook() -> None:
    assert problems(Good()) == []


def test_a_decorated_hook_counts_by_its_own_arguments() -> None:
    def decorator(function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return call

    @hookimpl
    @decorator
    def propose_draft(limit): ...

    assert problems(module(propose_draft=propose_draft)) == []


def test_a_misspelt_hook() -> None:
    @hookimpl
    def propose_drafts(sequence, limit): ...

    assert problems(module(propose_drafts=propose_drafts)) == [
        "'propose_drafts' is no hook of Reame; did you mean 'propose_draft'?"
    ]


def test_a_misspelt_specname() -> None:
    @hookimpl(specname="persists")
    def keep(stage): ...

    assert problems(module(keep=keep)) == ["'persists' is no hook of Reame; did you mean 'persist'?"]


def unknown_argument(sequence, limits): ...
def default_value(sequence, limit=4): ...
def method_outside_of_a_class(self, limit): ...
def keyword_only(sequence, *, limit): ...
def keyword_only_with_default(sequence, *, limit=4): ...
def star_args(*arguments): ...
def star_kwargs(**arguments): ...
async def coroutine(sequence): ...
def generator(sequence):
    yield


async def async_generator(sequence):
    yield


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (
            unknown_argument,
            "there is no argument 'limits'; did you mean 'limit'? (arguments: sequence, limit)",
        ),
        (method_outside_of_a_class, "there is no argument 'self' (arguments: sequence, limit)"),
        (default_value, "argument 'limit' has a default value and would never be passed, remove the default"),
        (keyword_only, "argument 'limit' is keyword-only, but hooks are called by position"),
        (
            keyword_only_with_default,
            "argument 'limit' has a default value and would never be passed, remove the default",
        ),
        (star_args, "'*arguments' would always be empty, name the arguments you want of (sequence, limit)"),
        (star_kwargs, "'**arguments' would always be empty, name the arguments you want of (sequence, limit)"),
        (coroutine, "an async function cannot be a hook, the engine does not await"),
        (generator, "a generator cannot be a hook, return the answer instead of yielding it"),
        (async_generator, "a generator cannot be a hook, return the answer instead of yielding it"),
    ],
)
def test_an_impossible_signature(function: Any, problem: str) -> None:
    plugin = module(propose_draft=hookimpl(specname="propose_draft")(function))
    assert problems(plugin) == [f"hook 'propose_draft': {problem}"]


@pytest.mark.parametrize("kind", ["wrapper", "hookwrapper"])
def test_wrappers_are_refused(kind: str) -> None:
    @hookimpl(**{kind: True})
    def persist(stage):
        yield

    assert problems(module(persist=persist)) == [
        "hook 'persist': hook wrappers are not possible, implement the hook itself"
    ]


def test_all_problems_are_told_at_once() -> None:
    class Bad:
        @hookimpl
        def persist(self, sequences, stage=None): ...

        @hookimpl
        def select_winer(self): ...

    assert len(problems(Bad())) == 3


def test_a_class_is_not_its_instance() -> None:
    found = problems(Good)
    assert "hook 'propose_draft': Good is a class, make an instance of it the plugin" in found
    assert problems(Good()) == []


def test_a_plugin_without_hooks() -> None:
    assert problems(module(helper=len)) == [
        "it has no hooks, mark its functions with @hookimpl from reame_core.hookspecs"
    ]
    assert problems(None) == problems(module(helper=len))


def test_a_forgotten_marker() -> None:
    [problem] = problems(module(persist=lambda stage: None))
    assert problem.startswith("it has no hooks (persist is not marked), mark its functions with @hookimpl")
