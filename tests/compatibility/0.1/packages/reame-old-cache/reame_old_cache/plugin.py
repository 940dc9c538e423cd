"""Keeps the KV cells of whole prompts in files, so that the same prompt is restored instead of computed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from reame_core.config.directories import directories
from reame_core.errors import ConfigError
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import KVAccess, PluginContext, SequenceView, Stage

DIGEST = 32
"""Bytes of the checksum in front of the cells."""


class OldCache:
    """One file a prompt. Nothing is ever deleted: a real cache has a budget."""

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Open the folder. Cells belong to one model, build and KV type: all that is in the namespace."""
        folder = context.options.get("folder", str(directories().cache / "old-cache"))
        if not isinstance(folder, str):
            raise ConfigError(f"plugins.old-cache.folder must be a path, not {folder!r}")
        self._folder = Path(folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._namespace = repr(sorted(context.namespace.items())).encode()

    @hookimpl
    def on_prefill(self, sequence: SequenceView, kv: KVAccess) -> int | None:
        """How many tokens were restored. The last token of a prompt is always computed: it gives the logits."""
        end = sequence.prompt_length - 1
        path = self._path(sequence, end)
        if kv.length > 0 or end < 1 or not path.exists():
            return None
        data = path.read_bytes()
        state = data[DIGEST:]
        if hashlib.sha256(state).digest() != data[:DIGEST]:  # damaged bytes must never reach llama.cpp
            path.unlink(missing_ok=True)
            return None
        return end if kv.restore(end, state) else None

    @hookimpl
    def persist(self, sequence: SequenceView, kv: KVAccess, stage: Stage) -> None:
        """Write in one step, by renaming, so that no reader ever sees half a file."""
        end = sequence.prompt_length - 1
        path = self._path(sequence, end)
        if stage is Stage.PREFIX and end >= 1 and not path.exists():
            state = kv.export(0, end)
            part = path.with_suffix(".part")
            part.write_bytes(hashlib.sha256(state).digest() + state)
            part.replace(path)

    def _path(self, sequence: SequenceView, end: int) -> Path:
        """By everything that decides what the cells hold, and who may have them."""
        parts = (self._namespace, sequence.request.tenant.encode(), sequence.tokens[:end].tobytes())
        key = hashlib.sha256()
        for part in parts:
            key.update(hashlib.sha256(part).digest())
        return self._folder / key.hexdigest()
