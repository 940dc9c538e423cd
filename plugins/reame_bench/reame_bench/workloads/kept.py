"""A whole answer that is kept for whoever asks the same."""

from __future__ import annotations

from reame_bench.texts import tasks
from reame_bench.workloads.workload import Metric, Outcome, Stage, Workload


class Kept(Workload):
    name = "kept"
    title = "An answer kept whole"
    question = (
        "Seconds to the whole answer of a letter that nobody has asked for before, and to the same one from "
        "disk (memo) or a store, after the server was ended and started."
    )
    metrics = (
        Metric("first", "computed", "s"),
        Metric("again", "kept", "s"),
        Metric("gain", "computed / kept", "×", "more"),
    )
    optional = True

    def run(self, stage: Stage) -> Outcome:
        [letter] = tasks.letters(1, seed=29)
        first = stage.ask(letter, stage.size.answer).reply
        stage.restart()
        again = stage.ask(letter, stage.size.answer).reply
        same = "the same text" if again.text == first.text else "another text"
        figures = {"first": first.seconds, "again": again.seconds, "gain": first.seconds / again.seconds}
        return Outcome(figures, notes=[f"what was kept is {same}; {first.tokens} tokens"])
