"""Invoices read into a JSON schema: constrained decoding with drafts (what the schema forces, what the invoice
lets expect) against the same without drafts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from bench.report import Figure, Result, Target
from bench.speculation.stage import Stage, Talk, Told, archive_folder
from bench.structured.documents import FORMAT, INSTRUCTION, INVOICES
from reame_core.engine.request import Request
from reame_core.plugins.api import ApiRequest
from reame_core.plugins.services import ask_plugins

PLUGIN = "suggeritore"
TOKENS = 320


def measure(stage: Stage, result: Result) -> None:
    plain: list[Told] = []
    drafted: list[Told] = []
    with archive_folder() as folder, stage.session(folder, plugins=(PLUGIN,)) as talk:
        talk.together([_request(talk, "Total: 1 EUR", 16)])  # builds what is built once
        for number, invoice in enumerate(INVOICES[: stage.rounds]):
            request = _request(talk, invoice, stage.size(TOKENS))
            for drafts in (True, False) if number % 2 else (False, True):
                told = stage.quiet.run(
                    lambda request=request, drafts=drafts: talk.together([replace(request, speculate=drafts)])
                )
                (drafted if drafts else plain).extend(told)
    pairs = list(zip(drafted, plain, strict=True))
    gains = [d.rate / p.rate for d, p in pairs]
    result.figures += [
        Figure.of("tokens/s, with / without drafts", gains, target=Target("≥", 1.5)),
        Figure.of("whole request, with / without drafts", [p.whole / d.whole for d, p in pairs]),
        Figure.of("accepted of all tokens", [d.accepted / len(d.tokens) for d in drafted], ""),
        Figure.of("without drafts", [p.rate for p in plain], "tokens/s"),
        Figure.of("with drafts", [d.rate for d in drafted], "tokens/s"),
    ]
    _note(stage, result, drafted, plain)


def _request(talk: Talk, document: str, tokens: int) -> Request:
    services, _ = ask_plugins(
        talk.session.plugins, ApiRequest("chat", {"response_format": FORMAT}, n=1, streamed=False)
    )
    messages: list[dict[str, object]] = [
        {"role": "system", "content": INSTRUCTION},
        {"role": "user", "content": document},
    ]
    request = Request(prompt=talk.session.chat_tokens(messages), max_tokens=tokens, reuse=False)
    return services.applied_to(request)


def _note(stage: Stage, result: Result, drafted: Sequence[Told], plain: Sequence[Told]) -> None:
    same = sum(a.tokens == b.tokens for a, b in zip(drafted, plain, strict=True))
    drafts = [told.drafts.get(PLUGIN, (0, 0)) for told in drafted]
    if not stage.conditions.quick:
        for told in (*drafted, *plain):
            json.loads(told.text)
    result.notes += [
        f"answers of {', '.join(str(len(told.tokens)) for told in plain)} tokens, all of them valid JSON; "
        f"{same} of {len(plain)} the same with drafts and without",
        f"(drafted, accepted): {drafts}",
    ]
