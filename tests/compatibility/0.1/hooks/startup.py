from pathlib import Path

from reame_core.errors import ConfigError
from reame_core.hookspecs import hookimpl


class Journal:
    @hookimpl
    def startup(self, context):
        path = context.options.get("file", "journal.txt")
        if not isinstance(path, str):
            raise ConfigError(f"plugins.journal.file must be a path, not {path!r}")
        self.file = Path(path).open("a", encoding="utf-8")
        self.file.write(f"started with {context.model.name}\n")

    @hookimpl
    def shutdown(self):
        self.file.close()


plugin = Journal()
