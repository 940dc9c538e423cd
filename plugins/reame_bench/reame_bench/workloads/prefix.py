"""One long text at the head of different prompts: cold, warm, repeated, and after a restart."""

from __future__ import annotations

from reame_bench.texts.prose import handbook
from reame_bench.workloads.workload import Metric, Outcome, Stage, Workload

_TOKENS = 8


class Prefix(Workload):
    name = "prefix"
    title = "A long prefix: cold, warm, restart, exact repeat"
    question = (
        "Seconds to the first token of a question on a long document: on a fresh server, another question, the "
        "same "
        "one again, and both after the server was ended and started."
    )
    metrics = (
        Metric("cold", "cold", "s"),
        Metric("warm", "another question", "s"),
        Metric("repeat", "the same question again", "s"),
        Metric("restarted", "after a restart: another question", "s"),
        Metric("restarted_repeat", "after a restart: a repeated question", "s"),
        Metric("gain", "cold / after a restart", "×", "more"),
    )

    def run(self, stage: Stage) -> Outcome:
        text = handbook(stage.size.prefix)

        def first_token(question: str) -> float:
            messages = [
                {"role": "system", "content": f"Answer by this handbook.\n\n{text}"},
                {"role": "user", "content": question},
            ]
            asked = stage.ask(messages, _TOKENS)
            tokens.append(asked.reply.prompt_tokens)
            return asked.reply.first

        tokens: list[int] = []
        figures = {
            "cold": first_token("What does paragraph 3 say?"),
            "warm": first_token("Who is named in paragraph 5?"),
            "repeat": first_token("What does paragraph 3 say?"),
        }
        stage.restart()
        figures["restarted"] = first_token("Which numbers are in paragraph 7?")
        figures["restarted_repeat"] = first_token("Who is named in paragraph 5?")
        figures["gain"] = figures["cold"] / figures["restarted"]
        return Outcome(figures, notes=[f"prompts of {max(tokens) or '?'} tokens"])
