"""What every source of models can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from reame_core.models.sources.local import LocalSource
from reame_core.models.sources.package import PackageSource

if TYPE_CHECKING:
    from reame_core.models.download.remote import RemoteFile
    from reame_core.models.download.web import Web


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model as a server offers it now."""

    files: tuple[RemoteFile, ...]
    """One, or all the parts of a split model in order."""
    reference: str
    """What was chosen, exactly: the revision and the file."""


@runtime_checkable
class RemoteSource(Protocol):
    """A source that has to be downloaded from."""

    @property
    def reference(self) -> str:
        """The source as text, in one spelling; no secret is in it."""
        ...

    @property
    def suggested_name(self) -> str | None:
        """What to call the model if nobody says, where that is known without asking the server."""
        ...

    def look_up(self, web: Web) -> RemoteModel:
        """Ask the server what there is. Raises ModelError."""
        ...


Source: TypeAlias = LocalSource | PackageSource | RemoteSource
