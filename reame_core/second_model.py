"""Models beside the one that is served, for plugins that compute drafts or embeddings with them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from reame_core.config import Settings
from reame_core.engine.batch_cost import BatchCost
from reame_core.host.cpu import clamp_threads
from reame_core.host.memory import available_memory, kv_plan
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.llama.embedder import LlamaEmbedder
from reame_core.llama.passing_thread import in_passing_thread
from reame_core.measurements import HostMeasurements
from reame_core.models.catalogue import Catalogue, resolve
from reame_core.models.fingerprint import fingerprint
from reame_core.models.gguf import kv_bytes_per_token, read_header, tokenizer_digest
from reame_core.plugins.api import Embedder, SecondModel

_MOST_ROWS = 512


class SecondModels:
    """Opens models with ``open``; ``cleanup`` closes them. By default they have ``cells`` of KV memory and
    ``threads``, as the served model."""

    def __init__(
        self,
        settings: Settings,
        catalogue: Catalogue,
        cells: int,
        threads: int,
        cleanup: ExitStack,
        progress: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._cells = cells
        self._threads = threads
        self._cleanup = cleanup
        self._progress = progress

    def open(
        self, model: str, *, cells: int | None = None, sequences: int = 16, threads: int | None = None
    ) -> SecondModel:
        """See ``ModelOpener``. What is measured of the model on this host is remembered as that of the served
        one is."""
        resolved = resolve(model, self._catalogue)
        header = read_header(resolved.path)
        wanted = cells or self._cells
        kv_plan(
            bytes_per_token=kv_bytes_per_token(header, "f16"),
            model_bytes=header.file_size,
            context_length=wanted,
            parallel=1,
            wanted_cells=wanted,
            available=available_memory(),
        )
        count = self._threads if threads is None else clamp_threads(threads).threads
        host = HostMeasurements(self._settings, resolved.path, header, [count], self._progress)
        self._progress(f"loading {resolved.name} ({header.file_size / 1e6:.0f} MB) beside it")
        options = LlamaOptions(
            kv_cells=wanted,
            threads=count,
            max_sequences=sequences + 2,
            max_rows=_MOST_ROWS,
            max_outputs=64,
            flash_attention=host.setup.flash_attention,
            mmap=self._settings.values.model.mmap,
            buffers=host.setup.buffers,
        )
        backend = in_passing_thread(lambda: LlamaBackend(resolved.path, options, name=resolved.name))
        self._cleanup.callback(backend.close)
        cost = BatchCost()
        host.recall_costs(backend, cost, measure=True)
        self._cleanup.callback(host.keep_costs, cost)
        return SecondModel(backend, tokenizer_digest(header), cost)

    def open_embedder(self, model: str, *, most_tokens: int = 256) -> Embedder:
        """See ``EmbedderOpener``."""
        resolved = resolve(model, self._catalogue)
        size = read_header(resolved.path).file_size
        self._progress(f"loading {resolved.name} ({size / 1e6:.0f} MB) for embeddings")
        embedder = in_passing_thread(
            lambda: LlamaEmbedder(
                resolved.path,
                name=resolved.name,
                fingerprint=fingerprint(resolved.path),
                most_tokens=most_tokens,
            )
        )
        self._cleanup.callback(embedder.close)
        return embedder
