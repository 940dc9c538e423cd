import json
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Stage


class TokenLog:
    """Writes the tokens of each answer into a file, one line an answer."""

    @hookimpl
    def startup(self, context):
        path = Path(str(context.options.get("file", "tokens.jsonl")))
        self.queue = SimpleQueue()
        self.thread = Thread(target=self._write, args=(path,), daemon=True)
        self.thread.start()

    @hookimpl
    def persist(self, sequence, stage):
        if stage is Stage.END:
            self.queue.put(sequence.tokens[sequence.prompt_length :].tolist())

    @hookimpl
    def shutdown(self):
        self.queue.put(None)
        self.thread.join()

    def _write(self, path):
        with path.open("a", encoding="utf-8") as file:
            while (tokens := self.queue.get()) is not None:
                file.write(json.dumps(tokens) + "\n")


plugin = TokenLog()
