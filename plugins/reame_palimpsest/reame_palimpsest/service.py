"""The archive in a running server: options, archive, metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reame_core.config import directories
from reame_core.config.plugin_options import read_options
from reame_core.errors import ConfigError
from reame_core.plugins.api import Metric, Sample
from reame_palimpsest.archive import Archive
from reame_palimpsest.folders import hashed
from reame_palimpsest.limits import Limits
from reame_palimpsest.options import ArchiveOptions
from reame_palimpsest.pursuit import NAME, Pursuits
from reame_palimpsest.sharing import SharedArchive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_core.plugins.api import PluginContext

_PATIENCE_AT_START = 1.0
"""Seconds to wait for the archive to be open before the first request."""


class Service:
    """From ``startup`` to ``shutdown``."""

    def __init__(self, context: PluginContext) -> None:
        """Raises ConfigError."""
        options = read_options(NAME, context.options, ArchiveOptions)
        info = context.model
        self.stores = options.archive and options.max_size_mb > 0
        self.archive = Archive(
            archive_folder(options),
            tokenizer_of(context),
            info.name,
            Limits.of(options.max_size_mb, options.ttl_days),
        )
        self.pursuits = Pursuits(
            self.archive,
            context.namespace.get("model", info.name),
            least=options.min_match,
            vocabulary=info.vocabulary_size,
        )
        self.archive.start()
        self.archive.flush(_PATIENCE_AT_START)
        if self.stores:
            context.offers.make(
                SharedArchive(self.archive, self.pursuits, tokenizer_of(context), info.vocabulary_size)
            )

    def close(self) -> None:
        """Write what is waiting."""
        self.archive.close()

    def metrics(self) -> Sequence[Metric]:
        """For Prometheus."""
        counts, sizes = self.archive.counts, self.archive.sizes()
        ended = {"stored": counts.stored, "repeated": counts.repeated, "dropped": counts.dropped}
        added = [Sample(counts.added)]
        return (
            Metric(
                "answers",
                "Answers that have ended, by what became of them.",
                "counter",
                [Sample(count, {"outcome": outcome}) for outcome, count in ended.items()],
            ),
            Metric("added", "Answers of other servers that were archived.", "counter", added),
            Metric(
                "generations",
                "Generations that can be searched.",
                "gauge",
                [Sample(sizes.generations)],
            ),
            Metric("tokens", "Tokens that can be searched.", "gauge", [Sample(sizes.words)]),
        )


def archive_folder(options: ArchiveOptions) -> Path:
    """Where the archive lies. Raises ConfigError where there is no such place."""
    try:
        return Path(options.folder).expanduser() if options.folder else directories().state / NAME
    except RuntimeError:
        raise ConfigError(f"this user has no home folder: set plugins.{NAME}.folder") from None


def tokenizer_of(context: PluginContext) -> str:
    """The name of the tokenizer's folder. Models of one tokenizer share their archive."""
    info = context.model
    known = context.tokenizer or repr(
        (context.namespace.get("model", info.name), info.vocabulary_size, sorted(info.special_tokens.items()))
    )
    return hashed(known, "tokenizer")
