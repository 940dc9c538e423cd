"""What an archive costs: ``python -m reame_palimpsest.bench [--tokens 10000000]``.

Fills an archive the way a server does, then opens it in a new process and looks things up. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reame_palimpsest.contexts import GRAM
from reame_palimpsest.follower import Follower
from reame_palimpsest.generations import KEPT_CONTEXT, Generation, Tokens
from reame_palimpsest.history import History
from reame_palimpsest.limits import Limits
from reame_palimpsest.live import LiveTail
from reame_palimpsest.match import Place
from reame_palimpsest.shelf import Shelf
from reame_palimpsest.view import View

_TOKENIZER = "0" * 32
_VOCABULARY = 50_000
_ANSWER = 200
_PHRASES = 5_000
_LOOKUPS = 4_000


class _Text:
    """Answers that share phrases, as those of one application do: half of their tokens are common phrases."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        shared = np.random.default_rng(0)
        self._phrases = [self._words(shared, int(shared.integers(4, 40))) for _ in range(_PHRASES)]

    def tokens(self, count: int) -> Tokens:
        pieces: list[Tokens] = []
        length = 0
        while length < count:
            phrase = self._phrases[int(_PHRASES * self._random.random() ** 3)]
            pieces += [phrase, self._words(self._random, len(phrase))]
            length += 2 * len(phrase)
        return np.concatenate(pieces)[:count]

    @staticmethod
    def _words(random: np.random.Generator, count: int) -> Tokens:
        return (random.zipf(1.2, count) % _VOCABULARY).astype(np.int32)


def _generations(tokens: int, seed: int = 1) -> Iterator[Generation]:
    text = _Text(seed)
    length = KEPT_CONTEXT + _ANSWER
    for number in range(max(1, tokens // length)):
        yield Generation(text.tokens(length), KEPT_CONTEXT, number, 1_000 + number)


def _shelf(folder: Path) -> Shelf:
    return Shelf(folder, _TOKENIZER, Limits.of(100_000, None), lambda: 1e9)


def _fill(folder: Path, tokens: int) -> dict[str, float]:
    shelf = _shelf(folder)
    generating = adding = longest = 0.0
    mark = time.perf_counter()
    for each in _generations(tokens):
        made = time.perf_counter()
        shelf.add(each)
        done = time.perf_counter()
        generating, adding = generating + made - mark, adding + done - made
        longest = max(longest, done - made)
        mark = done
    started = time.perf_counter()
    shelf.close()
    return {
        "archiving_us_per_token": 1e6 * (adding + time.perf_counter() - started) / tokens,
        "longest_merge_s": longest,
        "bytes_per_token": sum(path.stat().st_size for path in folder.glob("*.seg")) / tokens,
        "segments": len(list(folder.glob("*.seg"))),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
    }


def _resident() -> dict[str, float]:
    """Megabytes of this process in memory, all and without files."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(fields[name].split()[0]) / 1000 for name in ("VmRSS", "RssAnon")}


def _times(action: Callable[[Tokens], object], contexts: list[Tokens]) -> dict[str, float]:
    """``first_us``: the median when pages have not been looked at; the others are of the best of three more
    times, for neighbours on the same CPU are not what is measured."""
    passes = np.array([[_seconds(action, context) for context in contexts] for _ in range(4)]) * 1e6
    return {"first_us": float(np.median(passes[0])), **_summary(passes[1:].min(axis=0))}


def _seconds(action: Callable[[Tokens], object], context: Tokens) -> float:
    started = time.perf_counter()
    action(context)
    return time.perf_counter() - started


def _summary(micro: NDArray[np.float64]) -> dict[str, float]:
    return {"median_us": float(np.median(micro)), "p99_us": float(np.percentile(micro, 99))}


def _look_up(folder: Path) -> dict[str, object]:
    """In a new process: opening, look-ups, memory."""
    before = _resident()
    started = time.perf_counter()
    shelf = _shelf(folder)
    shelf.refresh()
    opening = time.perf_counter() - started
    view = shelf.view
    full = View((_full_tail(),), view.segments)
    random, text = np.random.default_rng(7), _Text(99)
    known, unknown = [], []
    for _ in range(_LOOKUPS):
        segment = view.segments[int(random.integers(len(view.segments)))]
        each = segment.generation(int(random.integers(segment.generation_count)))
        known.append(each.tokens[: int(random.integers(KEPT_CONTEXT, len(each.tokens)))])
        unknown.append(text.tokens(int(random.integers(KEPT_CONTEXT, 264))))
    result: dict[str, object] = {
        "tokens": sum(segment.words for segment in view.segments),
        "segments": len(view.segments),
        "opening_s": opening,
        "known_context": _times(lambda context: view.search(context, GRAM), known),
        "unknown_context": _times(lambda context: view.search(context, GRAM), unknown),
        "known_context_beside_a_full_log": _times(lambda context: full.search(context, GRAM), known),
        "unknown_context_beside_a_full_log": _times(lambda context: full.search(context, GRAM), unknown),
        "same_prompt": _times(lambda context: view.answer(len(context), 64, context[:0]), known),
        "following": _following(known),
        "prompt_lookup": _prompt_lookup(text),
    }
    after = _resident()
    result["memory_mb"] = {name: after[name] - before[name] for name in after}
    return result


def _full_tail() -> LiveTail:
    """A log that is about to be sealed."""
    tail = LiveTail()
    for each in _generations(Limits.of(100_000, None).live_words, seed=3):
        tail.add(each)
    return tail


def _following(streams: list[Tokens]) -> dict[str, float]:
    """One token after another along a known stream."""
    spent: list[float] = []
    for stream in streams[:200]:
        propose = partial(_follower_of(stream).propose, limit=16)
        spent += [_seconds(propose, stream[:known]) for known in range(8, len(stream) - 1)]
    return _summary(np.array(spent) * 1e6)


def _follower_of(stream: Tokens) -> Follower:
    return Follower(lambda _: Place(stream, 8, 8, 1.0))


def _prompt_lookup(text: _Text) -> dict[str, dict[str, float]]:
    found = {}
    for length in (1_000, 4_000, 32_000):
        history = History()
        history.append(text.tokens(length))
        contexts = [text.tokens(64) for _ in range(1_000)]
        found[f"{length}_tokens"] = _times(partial(history.longest, least=2), contexts)
    return found


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, float) and value:
        return round(value, max(0, 2 - math.floor(math.log10(abs(value)))))
    return value


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m reame_palimpsest.bench")
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="an archive to look things up in, instead of making one")
    arguments = parser.parse_args()
    if arguments.folder is not None:
        print(json.dumps(_rounded(_look_up(arguments.folder))))
        return
    with tempfile.TemporaryDirectory() as folder:
        filled = _fill(Path(folder), arguments.tokens)
        command = [sys.executable, "-m", "reame_palimpsest.bench", "--folder", folder]
        looked_up = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(json.dumps({"filling": _rounded(filled), **looked_up}, indent=2))


if __name__ == "__main__":
    main()
