"""From messages or text to the tokens of a prompt.

Two things hold at once. The tokens are those of the whole text in one go: merges cross the seams between
template and user texts as they did in training. And no control token ever comes out of a user's text,
whatever it says: it is tokenized as the ordinary characters it consists of.

How llama.cpp tokenizes decides how. With ``parse_special`` it first cuts the text at every control token's
text, longest first, and tokenizes the fragments between independently (each with the blank SentencePiece
puts in front, where the model wants that, and without the blanks after tokens such as Phi-3's that swallow
them). So a rendering whose user texts contain nothing of the kind goes through in one call. Otherwise user
texts carry guards (see ``special_texts``), and the fragments with guards, taken between the template's own
control tokens, are tokenized without ``parse_special``.

That alone is not enough: tokens of kind *user defined* are cut out even without ``parse_special``, and
SentencePiece merges may arrive at a control token (``</`` + ``s>``). Where one appears in a guarded
fragment, the fragment is tokenized in pieces, divided at its guards.

Left out: tokens that swallow blanks before them (only ``<mask>`` of embedding models does), and a user
defined token that overlaps a template's control token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reame_core.models.messages import Json, checked_texts, map_texts
from reame_core.models.special_texts import SpecialTexts, choose_guard, escaped

if TYPE_CHECKING:
    from reame_core.engine.backend import Backend
    from reame_core.models.chat_template import ChatTemplate

_BLANKS = " \t\n\v\f\r"
_KEPT = 4
_known: list[tuple[dict[str, int], SpecialTexts]] = []


def chat_tokens(
    backend: Backend,
    template: ChatTemplate,
    messages: Sequence[Mapping[str, object]],
    *,
    add_generation_prompt: bool = True,
    tools: Sequence[object] | None = None,
    extra: Mapping[str, object] | None = None,
) -> tuple[int, ...]:
    """The prompt of a chat, beginning token included where the model wants one. ``extra`` are further
    variables of the template. Any thread. Raises InvalidRequest."""
    specials = _special_texts(backend)
    prepared = template.prepare(messages)
    tools = list(tools or ())
    extra = dict(extra or {})
    checked_texts(tools, "tools")
    checked_texts(extra, "chat_template_kwargs")

    texts = _all_texts([prepared, tools, extra])
    if not any(map(specials.touches, texts)):
        rendering = template.fill(
            prepared, add_generation_prompt=add_generation_prompt, tools=tools, extra=extra
        )
        return _with_beginning(backend, backend.tokenize(rendering, parse_special=True))

    guard = choose_guard([*texts, template.source])
    rendering = template.fill(
        [_guarded(message, specials, guard) | {"role": message["role"]} for message in prepared],
        add_generation_prompt=add_generation_prompt,
        tools=_guarded(tools, specials, guard),
        extra=_guarded(extra, specials, guard),
    )
    # a template may have serialised a guard for readers of ASCII
    rendering = rendering.replace(escaped(guard), guard)
    return _with_beginning(backend, guarded_tokenize(backend, rendering, guard))


def raw_tokens(backend: Backend, text: str) -> tuple[int, ...]:
    """The prompt of a plain completion: all of ``text`` as ordinary characters, after the beginning token
    where the model wants one. Any thread. Raises InvalidRequest."""
    checked_texts(text, "prompt")
    specials = _special_texts(backend)
    if not specials.touches(text):
        return _with_beginning(backend, backend.tokenize(text))
    guard = choose_guard([text])
    tokens = _plain_tokens(backend, specials.guarded(text, guard), guard)
    return _with_beginning(backend, tokens)


def guarded_tokenize(backend: Backend, rendering: str, guard: str) -> list[int]:
    """The tokens of a rendering whose user texts carry ``guard`` (see ``SpecialTexts.guarded``); the guards
    themselves leave no trace."""
    if guard not in rendering:
        return backend.tokenize(rendering, parse_special=True)
    tokens: list[int] = []
    clean_from = fragment_from = 0
    special = ""
    spans = _special_texts(backend).in_template(rendering, guard)
    for start, end in [*spans, (len(rendering), len(rendering))]:
        fragment = rendering[fragment_from:start]
        if guard in fragment:
            tokens += backend.tokenize(rendering[clean_from:fragment_from], parse_special=True)
            if special and _swallows_blanks(backend, special):
                fragment = fragment.lstrip(_BLANKS)
            tokens += _plain_tokens(backend, fragment, guard)
            clean_from = start
        fragment_from = end
        special = rendering[start:end]
    return tokens + backend.tokenize(rendering[clean_from:], parse_special=True)


def _plain_tokens(backend: Backend, fragment: str, guard: str) -> list[int]:
    tokens = backend.tokenize(fragment.replace(guard, ""))
    if _special_texts(backend).ids.isdisjoint(tokens):
        return tokens
    first, *others = fragment.split(guard)
    tokens = backend.tokenize(first)
    for piece in others:
        tokens += _continuation(backend, piece)
    return tokens


def _continuation(backend: Backend, piece: str) -> list[int]:
    # SentencePiece puts a blank before whatever it is given; after a line break it does not
    line_break = backend.tokenize("\n")
    tokens = backend.tokenize("\n" + piece)
    if tokens[: len(line_break)] == line_break:
        return tokens[len(line_break) :]
    return backend.tokenize(piece)


def _swallows_blanks(backend: Backend, special: str) -> bool:
    with_blank = backend.tokenize(f"{special} x", parse_special=True)
    return with_blank == backend.tokenize(f"{special}x", parse_special=True)


def _with_beginning(backend: Backend, tokens: list[int]) -> tuple[int, ...]:
    info = backend.info
    if info.adds_bos and info.bos is not None and tokens[:1] != [info.bos]:
        return (info.bos, *tokens)
    return tuple(tokens)


def _special_texts(backend: Backend) -> SpecialTexts:
    # the few backends of a process are remembered by identity: building costs milliseconds
    table = backend.info.special_tokens
    for known, specials in _known:
        if known is table:
            return specials
    specials = SpecialTexts(table)
    _known[:] = [*_known[1 - _KEPT :], (table, specials)]
    return specials


def _guarded(value: Json, specials: SpecialTexts, guard: str) -> Json:
    return map_texts(
        value, lambda text: specials.guarded(text, guard), lambda key: specials.guarded_key(key, guard)
    )


def _all_texts(value: object) -> list[str]:
    texts: list[str] = []

    def collect(text: str) -> str:
        texts.append(text)
        return text

    map_texts(value, collect, collect)
    return texts
