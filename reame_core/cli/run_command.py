"""``reame run``: one prompt, one answer; on a terminal without a prompt, a chat."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import click

from reame_core.cli.logs import log_more
from reame_core.cli.models.completion import complete_model
from reame_core.cli.models.environment import DOWNLOADS
from reame_core.cli.options import (
    model_options,
    plugin_options,
    plugin_selection,
    sampling_options,
    settings_of,
)
from reame_core.cli.plugin_options import RunCommand, choices_wanted, options_given, plugin_fields
from reame_core.cli.prompt import check_text, is_interactive, read_prompt
from reame_core.cli.serve_command import serve_model
from reame_core.errors import EngineError, InvalidRequest, ReameError, UsageError
from reame_core.plugins.api import ApiRequest
from reame_core.plugins.services import Services, ask_plugins

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from reame_core.cli.answer import Choice
    from reame_core.config import Settings
    from reame_core.engine.request import Request
    from reame_core.session import Session

SOME_TOKEN = (0,)
MOST_AT_ONCE = 16
"""Candidates that are computed together where the settings say nothing: more are too many rows to be cheap."""


@click.command(
    cls=RunCommand,
    short_help="Answer one prompt, or chat.",
    environment=DOWNLOADS,
    examples=[
        ('reame run smollm2-135m "Name a fish."', "one answer"),
        ("reame run smollm2-135m", "a chat"),
        ("reame run ./model.gguf - < prompt.txt", "a file, and a prompt from a file"),
        ("reame run hf:ORG/REPO", "a repository of the hub"),
    ],
)
@click.argument("model", shell_complete=complete_model)
@click.argument("prompt", required=False)
@click.option("--system", metavar="TEXT", help="Instructions that come before the prompt.")
@sampling_options
@click.option("--seed", type=int, metavar="N", help="Same seed, same request, same answer.")
@click.option("--stop", metavar="TEXT", multiple=True, help="End the answer before this text; repeatable.")
@click.option("-n", "count", type=int, default=1, metavar="N", help="Number of answers.")
@click.option("--logprobs", type=int, metavar="K", help="With --json: log-probabilities and K alternatives.")
@click.option("--raw", is_flag=True, help="Continue the prompt as it is, without the chat template.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@click.option("--serve", "as_server", is_flag=True, help="Serve the model over HTTP, as reame serve does.")
@click.option("-v", "--verbose", is_flag=True, help="Report timings and what was reused.")
@model_options
@plugin_options
@click.pass_context
def run(
    ctx: click.Context,
    *,
    model: str,
    prompt: str | None,
    system: str | None,
    seed: int | None,
    stop: tuple[str, ...],
    count: int,
    logprobs: int | None,
    raw: bool,
    as_json: bool,
    as_server: bool,
    verbose: bool,
) -> None:
    """Answer PROMPT with MODEL: a name of the catalogue, a path to a GGUF file, hf:ORG/REPO[:FILE] or an
    address. A model that is not here is fetched first.

    Without PROMPT on a terminal this is a chat; /help in it explains it. Elsewhere, or with "-", the prompt is
    read from standard input, less the line break at its end. The answer alone goes to standard output, as it
    comes; progress and errors go to standard error. Several answers (-n) follow each other, parted by an empty
    line.
    """
    if verbose:
        log_more()
    settings = settings_of(ctx)
    fields = plugin_fields(ctx, settings)
    field_option = next((option.option for option, _ in options_given(ctx)), None)
    if as_server:
        if prompt is not None:
            raise InvalidRequest("--serve takes no prompt: clients send theirs", param="prompt")
        if field_option is not None:
            raise InvalidRequest(f"--serve takes no {field_option}: requests have it", param="serve")
        serve_model(settings, model)
        return
    if prompt is None and is_interactive():
        _chat(
            settings,
            model,
            system=system,
            seed=seed,
            stop=stop,
            refused=_for_one_answer(count, logprobs, raw, as_json) or field_option,
        )
        return
    if raw and system is not None:
        raise InvalidRequest("--system needs the chat template, which --raw turns off", param="system")
    if logprobs is not None and not as_json:
        raise InvalidRequest("--logprobs needs --json", param="logprobs")
    sampled = settings.values.sampling.temperature > 0
    if seed is None and sampled:
        seed = int.from_bytes(os.urandom(4), "little")
    # Everything but its tokens, so that a mistake is reported before a model is loaded.
    request = _request(settings, seed=seed, stop=stop, count=count, logprobs=logprobs)
    if system is not None:
        check_text("--system", system, "system")
    text = read_prompt(prompt)
    answer(
        settings,
        model,
        request,
        lambda session: _prompt(session, text, system=system, raw=raw),
        as_json=as_json,
        verbose=verbose,
        seed=seed if sampled else None,
        parallel=_parallel(settings, count, choices_wanted(ctx)),
        services=lambda session: _services(session, fields, raw=raw, count=count),
    )


def _parallel(settings: Settings, count: int, candidates: int) -> int:
    """How many choices to compute at once. Candidates for one answer run side by side where nobody has set
    another number: the first to agree stop the others."""
    limit = settings.values.engine.parallel
    if candidates > 1 and settings.origin("engine.parallel").kind == "default":
        limit = max(limit, MOST_AT_ONCE)
    return min(max(count, candidates), limit)


def _services(session: Session, fields: dict[str, Any], *, raw: bool, count: int) -> Services:
    """What plugins do for the request. Raises InvalidRequest where one that was there has failed to start."""
    if not fields:
        return Services()
    endpoint: Literal["chat", "completions"] = "completions" if raw else "chat"
    services, unserved = ask_plugins(session.plugins, ApiRequest(endpoint, fields, count, streamed=False))
    for field in unserved:
        raise InvalidRequest(f"no plugin serves {field} here: its plugin could not be started", param=field)
    return services


def _chat(
    settings: Settings,
    model: str,
    *,
    system: str | None,
    seed: int | None,
    stop: tuple[str, ...],
    refused: str | None,
) -> None:
    if refused:
        raise InvalidRequest(f"{refused} needs a prompt: without one this is a chat", param="prompt")
    if system is not None:
        check_text("--system", system, "system")
    for text in stop:
        check_text("--stop", text, "stop")
    from reame_core.cli.chat.start import start

    start(settings, model, system=system, seed=seed, stop=stop)


def _for_one_answer(count: int, logprobs: int | None, raw: bool, as_json: bool) -> str | None:
    """The option, if one is used, that a chat has no use for."""
    used = {"-n": count != 1, "--logprobs": logprobs is not None, "--raw": raw, "--json": as_json}
    return next((option for option, given in used.items() if given), None)


def answer(
    settings: Settings,
    model: str,
    request: Request,
    prompt_of: Callable[[Session], tuple[tuple[int, ...], tuple[str, ...]]],
    *,
    as_json: bool,
    verbose: bool,
    seed: int | None,
    parallel: int,
    services: Callable[[Session], Services],
) -> None:
    """Load ``model``, put the prompt's tokens, its own stop texts and what plugins want into ``request``, and
    print what comes of it."""
    from reame_core.cli.answer import collect, show, winner
    from reame_core.cli.models.fetching import bring_here
    from reame_core.cli.report import Outcome, json_object, lines
    from reame_core.cli.terminal import note, write
    from reame_core.session import open_session

    bring_here(settings, model)
    talking = verbose or _stderr_is_terminal()
    begun = perf_counter()
    with open_session(
        settings,
        model,
        parallel=parallel,
        progress=note if talking else lambda _: None,
        selection=plugin_selection(settings),
    ) as session:
        prompt, stops = prompt_of(session)
        served = services(session)
        request = served.applied_to(replace(request, prompt=prompt, stop=(*request.stop, *stops)))
        loaded = perf_counter()
        with closing(session.stream(request)) as events:
            if as_json or request.select:
                choices = collect(events, request.n)
            else:
                choices = show(events, request.n, headings=talking)
        answers = [winner(choices)] if request.select else choices
        if request.select and not as_json:
            write(f"{answers[0].text}\n")
        outcome = Outcome(
            model=session.info.name,
            description=session.description,
            choices=choices,
            answers=answers,
            plugins=served.reports(),
            seed=seed,
            load_ms=1000 * (loaded - begun),
            total_ms=1000 * (perf_counter() - loaded),
        )
        if as_json and any(choice.finished for choice in choices):
            import json

            write(json.dumps(json_object(outcome), ensure_ascii=False, allow_nan=False) + "\n")
        for line in (*served.notes(), *(lines(outcome) if verbose else ())):
            note(line)
    _raise_failure(choices)


def _request(
    settings: Settings, *, seed: int | None, stop: tuple[str, ...], count: int, logprobs: int | None
) -> Request:
    from reame_core.engine.request import Request, SamplingParams

    for text in stop:
        check_text("--stop", text, "stop")
    sampling = settings.values.sampling
    return Request(
        prompt=SOME_TOKEN,
        max_tokens=sampling.max_tokens,
        n=count,
        sampling=SamplingParams(
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            min_p=sampling.min_p,
            repeat_penalty=sampling.repeat_penalty,
            seed=seed,
        ),
        stop=stop,
        logprobs=logprobs,
    )


def _prompt(
    session: Session, text: str, *, system: str | None, raw: bool
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """(tokens, stop texts that go with them)."""
    if raw:
        return session.raw_tokens(text), ()
    return session.chat_tokens(_messages(system, text)), session.chat_stops


def _messages(system: str | None, prompt: str) -> list[dict[str, object]]:
    before: list[dict[str, object]] = [] if system is None else [{"role": "system", "content": system}]
    return [*before, {"role": "user", "content": prompt}]


def _stderr_is_terminal() -> bool:
    import sys

    from reame_core.cli.terminal import is_terminal

    return is_terminal(sys.stderr)


def _raise_failure(choices: list[Choice]) -> None:
    failed = [choice for choice in choices if choice.error is not None]
    if not failed:
        return
    error = failed[0].error
    if len(choices) > 1 and not isinstance(error, UsageError):
        raise EngineError(f"{len(failed)} of {len(choices)} answers failed, the first with: {error}") from error
    if isinstance(error, ReameError):
        raise error
    raise EngineError(f"{type(error).__name__}: {error}") from error
