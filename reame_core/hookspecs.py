"""The hooks of Reame: five that carry the design, two for drafts that are computed, the lifecycle around them,
five of the HTTP server, two of the command line and one of the catalogue.

A plugin is a module or an object with functions marked ``@hookimpl``; it may take fewer arguments than
the specification. All hooks run on the engine thread unless said otherwise: what blocks here stops every
user. A hook that raises is logged with the plugin's name, counted, and skipped; after repeated failures
that hook of that plugin is switched off. See docs/hooks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import pluggy

from reame_core.plugins.lifetimes import Deprecation, Lifetime

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click
    import numpy as np
    from numpy.typing import NDArray

    from reame_core.plugins.api import (
        AnsweredChoice,
        ApiRequest,
        AskAgain,
        Draft,
        DraftPrice,
        DraftWish,
        FieldService,
        Group,
        KnownAnswer,
        KVAccess,
        Metric,
        PluginContext,
        Question,
        RunOption,
        SequenceView,
        ServerAccess,
        Stage,
        TokenChooser,
        Verdict,
    )

PROJECT = "reame"
API_VERSION = "0.1"
"""Of the hooks and of everything else that docs/api-stability.md calls public: major and minor of Reame's own
version. A new minor version adds, and takes away what an earlier one has announced."""
OLDEST_API_VERSION = "0.1"
"""Plugins written for this one, and using nothing that was deprecated in it, work."""

hookimpl = pluggy.HookimplMarker(PROJECT)
_specification = pluggy.HookspecMarker(PROJECT)

_Function = TypeVar("_Function", bound=Callable[..., object])


def hookspec(
    *,
    since: str,
    firstresult: bool = False,
    deprecated: Deprecation | None = None,
    deprecated_arguments: Mapping[str, Deprecation] | None = None,
) -> Callable[[_Function], _Function]:
    """Marks a specification. ``since`` is the API version that has it first. A plugin that implements what is
    deprecated works, and is named in a warning."""

    def mark(function: _Function) -> _Function:
        marked = _specification(function, firstresult=firstresult)
        vars(marked)["reame_lifetime"] = Lifetime(
            since, firstresult, deprecated, dict(deprecated_arguments or {})
        )
        return marked

    return mark


@hookspec(since="0.1")
def startup(context: PluginContext) -> None:
    """The model is loaded and the engine is about to start. Read ``context.options``, open files, start
    threads. Called once, on the thread that builds the engine. An exception disables the plugin."""


@hookspec(since="0.1")
def shutdown() -> None:
    """The engine has stopped. Flush, close, join threads. Called once, after the last other hook."""


@hookspec(since="0.1", firstresult=True)
def on_prefill(sequence: SequenceView, kv: KVAccess) -> int | None:
    """Restore a known prefix of the prompt into the KV memory.

    Called once per sequence, before its first row is computed and after the prefix that other sequences
    hold in memory has been shared (``kv.length`` tokens of it). Answer how many tokens were added by
    ``kv.restore``, or None; the first plugin that answers ends the search. What takes longer than
    ``kv.seconds`` is restored in parts: after ``kv.go_on_later()`` the plugin is called once more."""


@hookspec(since="0.1")
def propose_draft(sequence: SequenceView, limit: int) -> Draft | None:
    """Guess up to ``limit`` next tokens of a decoding sequence.

    Called at each step for each decoding sequence that may speculate. Drafts cost nothing in correctness:
    the target verifies them. Answer None rather than a guess you do not believe in."""


@hookspec(since="0.1")
def price_drafts(wishes: Sequence[DraftWish]) -> DraftPrice | None:
    """Say what ``compute_drafts`` would cost for these sequences, without computing anything.

    Called at each step in which drafts may be wanted. Answer None where there can be none, for example because
    a sequence is too long."""


@hookspec(since="0.1")
def compute_drafts(wishes: Sequence[DraftWish]) -> Sequence[Draft | None] | None:
    """Guess the next tokens of several sequences, in their order, where guessing costs time: a small model.

    Called when that is believed to pay at the price that ``price_drafts`` named, and rarely to find out. Every
    user waits meanwhile: what takes more than a step, such as reading a long prompt, is to be done in pieces,
    with None as the draft until it is done. An empty draft says that the source is too unsure to guess."""


@hookspec(since="0.1", firstresult=True)
def verify(
    sequence: SequenceView, draft: Draft, logits: NDArray[np.float32], chooser: TokenChooser
) -> Verdict | None:
    """Judge a draft by the target's logits.

    Called after each batch that held a draft. ``logits`` has (len(draft.tokens) + 1, vocabulary) lines;
    line i is the target's opinion of drafted token i, the last line that of the token after the draft.
    The core's own implementation is lossless and comes last (``trylast``): a plugin that answers here takes
    over the promise that output keeps its distribution. Call ``chooser.accept`` for each token kept except
    ``next_token``."""


@hookspec(since="0.1", firstresult=True)
def select_winner(group: Group) -> int | None:
    """Choose the winner among the candidates of a request with ``select``.

    Called whenever a candidate has ended. Answer the ``choice`` that wins (the others are stopped), or
    None to go on; when all have ended without an answer, the request ends without a winner."""


@hookspec(since="0.1")
def persist(sequence: SequenceView, kv: KVAccess, stage: Stage) -> None:
    """Keep what has been computed.

    Called when the whole prompt of a sequence is in memory (``Stage.PREFIX``) and when its generation has
    ended (``Stage.END``), cancelled ones included. Export quickly and hand anything slow to a thread of
    your own."""


@hookspec(since="0.1")
def register_routes(server: ServerAccess) -> Sequence[object] | None:
    """Answer Litestar route handlers to be added to the HTTP server.

    Called once, on the server's event loop, when the model is loaded. Keys, limits, error shapes and the log
    are the server's: a handler raises an error of ``reame_core.errors``. It must not block the loop."""


@hookspec(since="0.1")
def serve_fields(request: ApiRequest) -> FieldService | None:
    """Take care of fields of a request that the core does not serve itself.

    Called for each chat or completion that has such fields, on a thread of the server's, for several requests
    at the same time. Raise InvalidRequest for a wrong value, with the field's name as ``param``."""


@hookspec(since="0.1", firstresult=True)
def recall_answer(question: Question) -> KnownAnswer | AskAgain | None:
    """Answer a request without computing it.

    Called for each prompt of a chat or completion before it is queued, on a thread of the server's, for several
    at the same time. The first plugin that answers ends the search. ``AskAgain`` makes the request wait and
    asks anew. Whoever is asked is told the end by ``keep_answer``, except for the one that knows the answer.
    Take a few milliseconds at most."""


@hookspec(since="0.1")
def keep_answer(question: Question, answer: Sequence[AnsweredChoice] | None) -> None:
    """Keep what was computed for a question that ``recall_answer`` was asked.

    Called once for each such question, on a thread of the server's, when all of its choices have ended; with
    None where there is no whole answer: the client has gone, something failed, somebody else knew it. Hand
    anything slow to a thread of your own."""


@hookspec(since="0.1")
def metrics() -> Sequence[Metric] | None:
    """Answer what to add to ``/metrics``. Called at each scrape, on the server's event loop."""


@hookspec(since="0.1")
def run_options() -> Sequence[RunOption] | None:
    """Answer options to add to ``reame run``: fields of its request, which ``serve_fields`` is then asked
    about.

    Called when ``reame run`` shows its help or meets an option that is none of the core's. No engine runs and
    ``startup`` has not been called."""


@hookspec(since="0.1")
def register_commands(cli: click.Group) -> None:
    """Add commands to ``reame`` by ``cli.add_command``.

    Called when all commands are listed, or when one is wanted that is none of the core's, which comes first.
    No engine runs and ``startup`` has not been called. Import what is heavy inside the commands."""


@hookspec(since="0.1")
def register_models() -> Mapping[str, Mapping[str, object]] | None:
    """Answer models to add to the catalogue: the same tables as in a catalogue file, by name.

    Called at most once a process, on any thread, when all names are listed or when one is wanted that neither
    the user nor Reame itself knows. ``startup`` has not been called. See docs/models.md for the fields."""
