"""Several users: at the same time, and one whose long prompt comes while another's answer is streamed."""

from __future__ import annotations

import threading
import time

import numpy as np

from reame_bench.errors import BenchError
from reame_bench.texts import tasks
from reame_bench.texts.prose import handbook
from reame_bench.workloads.workload import Metric, Outcome, Stage, Workload


class Users(Workload):
    name = "users"
    title = "1 to 8 users at the same time"
    question = (
        "Tokens a second of all together, different stories, from the first request sent to the last answer."
    )
    metrics = (
        *(Metric(f"users_{n}", f"{n} at once", "tokens/s", "more") for n in (1, 2, 3, 4, 8)),
        Metric("gain", "most / one", "×", "more"),
    )

    def run(self, stage: Stage) -> Outcome:
        figures: dict[str, float] = {}
        for count in stage.size.users:
            plots = [
                tasks.user(f"Tell a story about {thing} number {count}{number}. Go into detail.")
                for number, thing in enumerate(_SUBJECTS[:count])
            ]
            started = time.perf_counter()
            replies = stage.ask_at_once(plots, stage.size.answer)
            took = time.perf_counter() - started
            figures[f"users_{count}"] = sum(reply.tokens for reply in replies) / took
        most = f"users_{stage.size.users[-1]}"
        figures["gain"] = figures[most] / figures["users_1"]
        return Outcome(figures)


_SUBJECTS = (
    "a lost ring",
    "an old bridge",
    "a blue door",
    "two brothers",
    "a frozen lake",
    "a letter",
    "a map",
    "a bell",
)


class Stall(Workload):
    name = "stall"
    title = "A long prompt beside a running answer"
    question = (
        "One user's answer is streamed while another sends a long prompt: the pauses between the pieces of the "
        "first "
        "one's text until the second one's first token, and how long the second one waits."
    )
    metrics = (
        Metric("longest", "longest pause", "ms"),
        Metric("typical", "half of the pauses are below", "ms"),
        Metric("before", "half of the pauses before", "ms"),
        Metric("wait", "the second one's first token", "s"),
    )

    def run(self, stage: Stage) -> Outcome:
        story = tasks.user(
            "Tell a very long story about a river that changes its course. Go into every detail."
        )
        question = [
            {"role": "system", "content": handbook(stage.size.prefix, seed=31)},
            {"role": "user", "content": "What is this about?"},
        ]
        length = stage.size.answer * _LONG
        streamed: list[float] = []
        began = time.perf_counter()
        failure: list[BaseException] = []

        def stream() -> None:
            try:
                reply = stage.client.chat(story, length)
                streamed.extend(reply.times)
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=stream)
        thread.start()
        time.sleep(_LEAD_S if stage.size.rounds > 1 else _LEAD_S / 4)
        sent = time.perf_counter() - began
        wait = stage.client.chat(question, 1).first
        thread.join()
        if failure:
            raise BenchError(f"the streamed answer failed: {failure[0]}")
        return _pauses(streamed, sent, wait)


_LEAD_S = 4.0
"""So long the answer streams before the prompt comes."""
_LONG = 4
"""The streamed answer has to outlast the prompt."""


def _pauses(times: list[float], sent: float, wait: float) -> Outcome:
    """``times`` of the pieces, when the prompt was ``sent``, and how long it had to ``wait``; all in
    seconds."""
    at = np.array(times)
    gaps = np.diff(at)
    beside = gaps[(at[1:] > sent) & (at[:-1] < sent + wait)]
    before = gaps[at[1:] <= sent]
    if not len(beside) or not len(before):
        return Outcome({"wait": wait}, notes=["the answer ended before the prompt came"])
    figures = {
        "longest": 1000 * float(beside.max()),
        "typical": 1000 * float(np.median(beside)),
        "before": 1000 * float(np.median(before)),
        "wait": wait,
    }
    notes = [] if at[-1] >= sent + wait else ["the answer ended before the prompt was computed"]
    return Outcome(figures, {"pause, ms": (1000 * gaps).tolist()}, notes)
