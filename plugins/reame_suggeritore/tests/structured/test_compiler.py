"""Compiled grammars are kept, within bounds, and shared; the vocabulary is read once."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from reame_suggeritore.structured.compiler import Compiler
from reame_suggeritore.structured.constraint import GrammarConstraint
from reame_suggeritore.structured.grammar import of_choice, of_regex
from reame_suggeritore.structured.tokenizer import Tokenizer

from plugins.reame_suggeritore.tests.structured.support import context_of, structure_on
from reame_core.errors import InvalidRequest
from reame_core.plugins.api import ApiRequest, PluginContext
from reame_core.testing import FakeBackend
from reame_core.testing import fake_vocabulary as vocabulary


@pytest.fixture
def compiler() -> Compiler:
    return Compiler(Tokenizer(context_of(FakeBackend())), kept=3)


def constraint(compiler: Compiler, pattern: str) -> GrammarConstraint:
    return compiler.constraint(compiler.compile(of_regex(pattern, "regex")), is_json=False)


def allowed(each: GrammarConstraint) -> set[int]:
    mask = np.zeros((vocabulary.SIZE + 31) // 32, np.uint32)
    each.fill_mask(mask)
    return set(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist())


def test_the_latest_grammars_are_kept(compiler: Compiler) -> None:
    for pattern, compiled in [("a", 1), ("b", 2), ("a", 2), ("c", 3), ("d", 4), ("a", 4), ("b", 5), ("c", 6)]:
        compiler.compile(of_regex(pattern, "regex"))
        assert compiler.compiled == compiled


def test_a_grammar_that_cannot_be_used_is_not_kept(compiler: Compiler) -> None:
    for _ in range(2):
        with pytest.raises(InvalidRequest, match=r"^regex cannot be used: unclosed group$"):
            compiler.compile(of_regex("(", "regex"))
    assert compiler.compiled == 0


def test_constraints_of_one_grammar_are_independent(compiler: Compiler) -> None:
    first, second = constraint(compiler, "ab*c"), constraint(compiler, "ab*c")
    assert allowed(first) == {ord("a"), vocabulary.tokenize("ab")[0]}
    first.accept(ord("a"))
    assert allowed(first) == {ord("b"), ord("c")}
    assert ord("a") in allowed(second)
    first.accept(ord("c"))
    assert first.complete
    assert allowed(first) == {vocabulary.EOS, vocabulary.TURN_END}
    first.rollback(2)
    assert allowed(first) == allowed(second)
    first.rollback(0)


def test_what_is_counted_leaves_no_trace(compiler: Compiler) -> None:
    each = constraint(compiler, "ab?")
    before = allowed(each)
    for tokens, count in [
        ([97, 98], 2),
        ([97, 99], 1),
        ([99], 0),
        ([97, vocabulary.EOS, 98], 2),
        ([vocabulary.EOS], 0),
        ([], 0),
    ]:
        assert each.count_allowed(tokens) == count
        assert allowed(each) == before


def test_a_forbidden_token_is_an_error_and_never_ignored(compiler: Compiler) -> None:
    each = constraint(compiler, "ab")
    with pytest.raises(RuntimeError, match="doesn't satisfy the grammar"):
        each.accept(ord("x"))
    with pytest.raises(RuntimeError):
        allowed(each)


def test_forced_bytes_behind_what_is_tried(compiler: Compiler) -> None:
    each = constraint(compiler, "(name|none): [0-9]!")
    assert each.forced_after(b"") == b"n"
    assert each.forced_after(b"na") == b"me: "
    assert each.forced_after(b"name: 5") == b"!"
    assert each.forced_after(b"nobody") is None
    assert each.forced() == [ord("n")]
    each.accept(ord("n"))
    each.accept(ord("o"))
    assert b"".join(map(vocabulary.piece, each.forced())).startswith(b"ne:")


def test_an_end_token_that_looks_like_text_is_no_text() -> None:
    backend = FakeBackend()
    info = replace(backend.info, end_tokens=frozenset({ord("z"), vocabulary.EOS}))
    context = PluginContext(info, {}, piece=backend.piece, tokenize=backend.tokenize)
    each = constraint(Compiler(Tokenizer(context)), "[x-z]z?")
    assert allowed(each) == {ord("x"), ord("y")}
    each.accept(ord("x"))
    assert allowed(each) == {ord("z"), vocabulary.EOS}


def test_the_vocabulary_is_read_once_whoever_comes_first() -> None:
    structure = structure_on(FakeBackend())
    request = ApiRequest("chat", {"guided_choice": ["a", "b"]}, 1, False)
    threads = [threading.Thread(target=structure.serve, args=(request,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    built = structure.tokenizer.built
    structure.serve(request)
    assert structure.tokenizer.built is built


def test_choices_are_texts_whatever_they_hold(compiler: Compiler) -> None:
    texts = ["/a/", "\\n", '"', "start: x", "é\n", "#"]
    matcher = compiler.compile(of_choice(texts, "guided_choice"))
    for text in texts:
        tokens = list(text.encode())
        assert compiler.constraint(matcher, is_json=False).count_allowed(tokens) == len(tokens)
