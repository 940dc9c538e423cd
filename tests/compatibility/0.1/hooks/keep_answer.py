import json
from pathlib import Path

from reame_core.hookspecs import hookimpl


class Journal:
    @hookimpl
    def startup(self, context):
        self.path = Path(str(context.options.get("file", "answers.jsonl")))

    @hookimpl
    def keep_answer(self, question, answer):
        if answer is not None:
            texts = ["".join(delta.text for delta in choice.deltas) for choice in answer]
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(texts) + "\n")


plugin = Journal()
