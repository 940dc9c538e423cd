"""Accuracy over tokens, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from bench.conclave.candidates import Answered
from bench.conclave.report import RULES, SIZES, Way, ways

mpl.use("Agg")

from matplotlib import pyplot as plt

_MARKERS = dict(zip((name for name, _ in RULES), "osD^", strict=True))
_COLOURS = {3: "#1b7f79", 5: "#d1495b", 9: "#30638e"}


def draw(answered: Sequence[Answered], file: Path, model: str) -> None:
    """One point for each way to answer, with its 95 % interval; votes of one size are joined."""
    found = ways(answered)
    greedy, sample, *votes = found
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    axes.axhline(100 * greedy.accuracy, color="0.75", linewidth=1, linestyle="--")
    _point(axes, greedy, greedy, "black", "*", "greedy", size=13)
    _point(axes, sample, greedy, "0.45", "X", sample.name, size=9)
    for index, size in enumerate(SIZES):
        some = votes[index * len(RULES) : (index + 1) * len(RULES)]
        order = sorted(some, key=lambda way: way.tokens)
        axes.plot(
            [way.tokens / greedy.tokens for way in order],
            [100 * way.accuracy for way in order],
            color=_COLOURS[size],
            linewidth=1,
            alpha=0.5,
        )
        for (rule, _), way in zip(RULES, some, strict=True):
            _point(axes, way, greedy, _COLOURS[size], _MARKERS[rule], f"N = {size}, {rule}", size=7)
    axes.set_xlabel("tokens generated, times those of one greedy answer")
    axes.set_ylabel("right answers, %")
    axes.set_xlim(left=0)
    axes.set_title(f"{model}: {len(answered)} questions, 95 % intervals")
    axes.grid(color="0.93")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(file, dpi=110, metadata={"Software": None} if file.suffix == ".png" else None)
    plt.close(figure)


def _point(axes: plt.Axes, way: Way, greedy: Way, colour: str, marker: str, label: str, size: float) -> None:
    low, high = (100 * abs(way.accuracy - bound) for bound in way.interval)
    # Votes of one size have nearly the same interval: it is drawn once.
    bar = None if "N =" in label and RULES[0][0] not in label else [[low], [high]]
    axes.errorbar(
        way.tokens / greedy.tokens,
        100 * way.accuracy,
        yerr=bar,
        fillstyle="none" if "N =" in label else "full",
        color=colour,
        marker=marker,
        markersize=size,
        linestyle="none",
        elinewidth=0.7,
        alpha=0.9,
        label=label,
    )
