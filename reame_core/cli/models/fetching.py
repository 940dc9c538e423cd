"""Bringing a model onto this machine, for the commands that need one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.cli.models.names import catalogue_of
from reame_core.cli.models.progress import LineProgress, progress_on_stderr
from reame_core.cli.terminal import note
from reame_core.errors import ModelError
from reame_core.host.memory import byte_count
from reame_core.models.catalogue import Entry, ModelNotHere, check_name, resolve
from reame_core.models.model_file import shard_stem
from reame_core.models.sources import RemoteSource
from reame_core.models.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reame_core.cli.models.progress import ProgressForPeople
    from reame_core.config import Settings
    from reame_core.models.catalogue import Catalogue
    from reame_core.models.download.pull import Pulled
    from reame_core.models.download.web import Web


def bring_here(settings: Settings, model: str, say: Callable[[str], None] | None = None) -> None:
    """Fetch ``model`` if it is known and not on this machine. Whatever else is wrong with it is left to whoever
    opens it. Progress is shown on stderr, or told to ``say``, a line at a time. Raises ModelError."""
    catalogue = catalogue_of(settings)
    try:
        resolve(model, catalogue)
    except ModelNotHere as absent:
        if not isinstance(absent.entry.source, RemoteSource):
            return
        fetch(absent.entry, absent.entry.source, catalogue, progress=LineProgress(say) if say else None)
    except ModelError:
        return


def fetch(
    entry: Entry,
    source: RemoteSource,
    catalogue: Catalogue,
    *,
    name: str | None = None,
    again: bool = False,
    progress: ProgressForPeople | None = None,
) -> Path:
    """Fetch the model of ``entry`` as ``name``, by default its own. Returns its path. Raises ModelError; an
    interrupt passes through when it has been said how much is here."""
    from reame_core.models.download.pull import pull
    from reame_core.models.download.web import Web

    progress = progress or progress_on_stderr()
    web = Web().telling(progress)
    name = name or entry.name or _name_for(source, web)
    try:
        pulled = pull(
            name,
            source,
            catalogue.folder,
            shared_name=name != entry.name,
            web=web,
            progress=progress,
            sha256=entry.facts.sha256,
            again=again,
        )
    except KeyboardInterrupt:
        if progress.amount:
            note(f"interrupted: {progress.amount} are here, and the next reame pull goes on from there")
        raise
    progress.say(_outcome(name, pulled, catalogue))
    return pulled.path


def _name_for(source: RemoteSource, web: Web) -> str:
    name = source.suggested_name or shard_stem(source.look_up(web).files[0].name)
    try:
        check_name(name)
    except ValueError as error:
        raise ModelError(f"{error}: choose one with --name") from None
    return name


def _outcome(name: str, pulled: Pulled, catalogue: Catalogue) -> str:
    shown = printable(name)
    size = byte_count(sum(path.stat().st_size for path in catalogue.folder.files(name)))
    if not pulled.fetched:
        return f"{shown} is here already ({size})"
    checked = "nobody says which checksum it should have" if pulled.unchecked else "its checksum is right"
    return f"{shown} is here ({size}; {checked})"
