"""A conversation that grows."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from reame_bench.texts import tasks
from reame_bench.workloads.workload import Asked, Metric, Outcome, Stage, Workload

if TYPE_CHECKING:
    from reame_bench.client import Messages

_LAST = 5


class Conversation(Workload):
    name = "chat"
    title = "A conversation of many turns"
    question = "Each turn sends everything that was said before. Seconds to the first token, turn by turn."
    metrics = (
        Metric("first", "first turn: first token", "s"),
        Metric("last", "last five turns: first token, mean", "s"),
        Metric("longest", "longest wait for a first token", "s"),
        Metric("seconds", "whole conversation", "s"),
        Metric("cpu", "whole conversation, processor", "CPU-s"),
    )

    def run(self, stage: Stage) -> Outcome:
        conversation: Messages = [
            {"role": "system", "content": "You are a helpful neighbour. Answer in two or three sentences."}
        ]
        answers: list[Asked] = []
        for question in tasks.questions(stage.size.turns, seed=51):
            conversation.append({"role": "user", "content": question})
            answers.append(stage.ask(conversation, min(stage.size.answer, 64)))
            conversation.append({"role": "assistant", "content": answers[-1].reply.text})
        waits = [each.reply.first for each in answers]
        figures = {
            "first": waits[0],
            "last": statistics.fmean(waits[-_LAST:]),
            "longest": max(waits[1:]),
            "seconds": sum(each.reply.seconds for each in answers),
            "cpu": sum(each.cpu for each in answers),
        }
        notes = [f"{len(answers)} turns, the last prompt has {answers[-1].reply.prompt_tokens or '?'} tokens"]
        return Outcome(figures, {"first token": waits}, notes)
