"""What the checkers have in common: the laws, how they are told, and the schedules that try them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reame_core.engine.request import Request, SamplingParams
from reame_core.errors import PluginError
from reame_core.plugins.api import ApiRequest
from reame_core.plugins.services import ask_plugins
from reame_core.testing.driving import Answers, Plugged, plain_answers, plugged, prompt_of, run, submit

MakePlugin = Callable[[], object]
"""Makes a plugin as it is when Reame starts: a new instance each time."""


class BrokenLaw(AssertionError):
    """A plugin does what plugins must not do. The text says what, and what to look at."""


@dataclass(frozen=True)
class Step:
    """One thing that happens: ``request`` comes, then the engine makes ``steps`` steps, then it may be gone."""

    request: Request
    steps: int
    cancelled: bool


_WORDS = ("a", "the cat ", "sat on ", "red, blue, ", "1. ", "2. ", "| x | y |\n", "- ", '{"k": ', "\n", "end")
_SAMPLINGS = (
    SamplingParams(),
    SamplingParams(),
    SamplingParams(repeat_penalty=1.3, frequency_penalty=0.4),
    *(SamplingParams(temperature=0.8, top_p=0.9, seed=seed) for seed in range(4)),
)


@contextmanager
def started(plugin: object, *arguments: Any, **options: Any) -> Iterator[Plugged]:
    """``plugged``, where a plugin that does not start breaks a law."""
    with ExitStack() as stack:
        try:
            running = stack.enter_context(plugged(plugin, *arguments, **options))
        except PluginError as error:
            raise BrokenLaw(f"the plugin does not start: {error}") from error
        yield running


def requests(choices: Sequence[int] = (1, 1, 1, 2)) -> st.SearchStrategy[Request]:
    """Requests of every kind: greedy and seeded ones, with penalties, several ``choices``, stop texts, of two
    tenants, short and long."""

    @st.composite
    def make(draw: st.DrawFn) -> Request:
        words = draw(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=12))
        return Request(
            prompt=prompt_of("".join(words)),
            max_tokens=draw(st.integers(1, 24)),
            n=draw(st.sampled_from(choices)),
            stop=draw(st.sampled_from(((), (), ("e",), ("th",)))),
            sampling=draw(st.sampled_from(_SAMPLINGS)),
            tenant=draw(st.sampled_from(("", "", "another"))),
        )

    return make()


def schedules(most: int = 6, choices: Sequence[int] = (1, 1, 1, 2)) -> st.SearchStrategy[list[Step]]:
    """Up to ``most`` requests that come one after the other, at any time of those before, and may be
    cancelled."""
    step = st.builds(Step, requests(choices), st.integers(0, 12), st.sampled_from((False, False, False, True)))
    return st.lists(step, min_size=1, max_size=most)


def served(running: Plugged, request: Request, fields: Mapping[str, object] | None) -> Request:
    """``request`` as the plugin wants it where a client sent it with ``fields``. Raises BrokenLaw where the
    plugin does not serve one of them."""
    if not fields:
        return request
    services, left_over = ask_plugins(running.manager, ApiRequest("chat", fields, request.n, False))
    if left_over:
        raise BrokenLaw(f"serve_fields does not serve {', '.join(sorted(left_over))}, which it is checked with")
    return services.applied_to(request)


def play(
    running: Plugged, schedule: Sequence[Step], fields: Mapping[str, object] | None = None
) -> list[tuple[Step, Answers]]:
    """Let ``schedule`` happen and everything end; its requests come with ``fields``."""
    engine = running.engine
    played = []
    for step in schedule:
        step = replace(step, request=served(running, step.request, fields))
        answers = submit(engine, step.request)
        for _ in range(step.steps):
            engine.step()
        if step.cancelled and answers.group is not None:
            engine.cancel(answers.group)
        played.append((step, answers))
    run(engine)
    return played


def check_answers(played: Sequence[tuple[Step, Answers]], **backend: Any) -> None:
    """A plugin changes speed, never answers. Of a choice that was cancelled, or stopped because another one
    won, the beginning has to be the same."""
    for step, answers in played:
        expected = plain_answers(step.request, **backend)
        for number, (answer, plain) in enumerate(zip(answers, expected, strict=True)):
            if answer.finished is not None and answer.finished.reason == "cancelled":
                kept = tuple(answer.tokens)
                if plain[1][: len(kept)] != kept:  # type: ignore[index]
                    raise BrokenLaw(
                        f"a cancelled answer began with other tokens than without the plugin: {kept} "
                        f"instead of {plain[1]!r}"
                    )
            elif answer.said != plain:
                raise BrokenLaw(
                    f"choice {number} of {step.request!r} is answered differently with the plugin:\n"
                    f"  with:    {answer.said}\n  without: {plain}\n"
                    "A plugin changes how fast an answer comes, never which."
                )


def check_failures(running: Plugged) -> None:
    """No exception of a plugin is normal."""
    if running.failures:
        hooks = ", ".join(f"{hook} ({count})" for hook, count in running.failures.items())
        raise BrokenLaw(
            f"these hooks raised: {hooks}. Reame skips a hook that raises and switches it off after three "
            "times in a row; the log has the traceback."
        )
    if any(report.state == "failed" for report in running.manager.report()):
        why = next(report.why for report in running.manager.report() if report.state == "failed")
        raise BrokenLaw(f"the plugin cannot be used: {why}")


def for_all(strategy: st.SearchStrategy[Any], check: Callable[[Any], None], examples: int) -> None:
    """``check`` on so many values of ``strategy``, the same ones at each run."""

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate, Phase.shrink),  # explaining would take longer than finding
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def checked(value: Any) -> None:
        check(value)

    checked()
