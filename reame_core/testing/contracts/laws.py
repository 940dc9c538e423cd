"""What the checkers have in common: the laws, how they are told, and the schedules that try them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reame_core.engine.request import Request, SamplingParams
from reame_core.testing.driving import Answers, Plugged, plain_answers, prompt_of, run, submit

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


def requests(**fields: Any) -> st.SearchStrategy[Request]:
    """Requests of every kind: greedy and seeded ones, several choices, stop texts, short and long."""

    @st.composite
    def make(draw: st.DrawFn) -> Request:
        words = draw(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=12))
        seed = draw(st.none() | st.integers(0, 3))
        sampling = SamplingParams() if seed is None else SamplingParams(temperature=0.8, top_p=0.9, seed=seed)
        return Request(
            prompt=prompt_of("".join(words)),
            max_tokens=draw(st.integers(1, 24)),
            n=draw(st.sampled_from((1, 1, 1, 2))),
            stop=draw(st.sampled_from(((), (), ("e",), ("th",)))),
            sampling=sampling,
            **fields,
        )

    return make()


def schedules(most: int = 6, **fields: Any) -> st.SearchStrategy[list[Step]]:
    """Up to ``most`` requests that come one after the other, at any time of those before, and may be
    cancelled."""
    step = st.builds(Step, requests(**fields), st.integers(0, 12), st.sampled_from((False, False, False, True)))
    return st.lists(step, min_size=1, max_size=most)


def play(plugged: Plugged, schedule: Sequence[Step]) -> list[tuple[Step, Answers]]:
    """Let ``schedule`` happen and everything end."""
    engine = plugged.engine
    played = []
    for step in schedule:
        answers = submit(engine, step.request)
        for _ in range(step.steps):
            engine.step()
        if step.cancelled and answers.group is not None:
            engine.cancel(answers.group)
        played.append((step, answers))
    run(engine)
    return played


def check_answers(played: Sequence[tuple[Step, Answers]], **backend: Any) -> None:
    """A plugin changes speed, never answers."""
    for step, answers in played:
        expected = plain_answers(step.request, **backend)
        for number, (answer, plain) in enumerate(zip(answers, expected, strict=True)):
            if step.cancelled and answer.finished is not None and answer.finished.reason == "cancelled":
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


def check_failures(plugged: Plugged) -> None:
    """No exception of a plugin is normal."""
    if plugged.failures:
        hooks = ", ".join(f"{hook} ({count})" for hook, count in plugged.failures.items())
        raise BrokenLaw(
            f"these hooks raised: {hooks}. Reame skips a hook that raises and switches it off after three "
            "times in a row; the log has the traceback."
        )
    if any(report.state == "failed" for report in plugged.manager.report()):
        why = next(report.why for report in plugged.manager.report() if report.state == "failed")
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
