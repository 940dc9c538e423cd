"""A repository of the Hugging Face hub, or of a mirror of it.

``huggingface_hub`` answers what there is, where, and with which checksum; the transfer itself is the same as
from any other server (``reame_core.models.download``), which compares the checksum and can go on after a break.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reame_core.errors import ModelError
from reame_core.models.download.remote import RemoteFile
from reame_core.models.model_file import shard_stem
from reame_core.models.sources.hub_choice import choose_file, files_of_split
from reame_core.models.sources.source import RemoteModel
from reame_core.models.wording import printable

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo

    from reame_core.models.download.web import Web

_ENDPOINT = "https://huggingface.co"


def hub_endpoint() -> str:
    """The hub's address: ``HF_ENDPOINT``, or the public one."""
    return (os.environ.get("HF_ENDPOINT") or _ENDPOINT).rstrip("/")


@dataclass(frozen=True, slots=True)
class HubSource:
    repository: str
    revision: str | None = None
    wanted: str | None = None
    """A file of the repository, or a quantisation; None for the best choice."""

    @property
    def reference(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"hf:{self.repository}{revision}{f':{self.wanted}' if self.wanted else ''}"

    @property
    def suggested_name(self) -> str | None:
        if self.wanted and self.wanted.lower().endswith(".gguf"):
            return shard_stem(self.wanted.rsplit("/", 1)[-1])
        return None

    def look_up(self, web: Web) -> RemoteModel:
        info = web.retrying(lambda: _ask(self, web), f"{self.repository} at {hub_endpoint()}")
        siblings = {sibling.rfilename: sibling for sibling in info.siblings or ()}
        first = choose_file(list(siblings), self.wanted, self.repository)
        from huggingface_hub import hf_hub_url

        commit = info.sha or self.revision or "main"
        files = []
        for path in files_of_split(list(siblings), first):
            sibling = siblings[path]
            # What is small enough to lie in git itself has no checksum here and no place among models.
            checksum = sibling.lfs.sha256 if sibling.lfs else None
            url = hf_hub_url(self.repository, path, revision=commit, endpoint=hub_endpoint())
            files.append(RemoteFile(path.rsplit("/", 1)[-1], url, sibling.size, checksum, _headers()))
        return RemoteModel(tuple(files), f"hf:{self.repository}@{commit}:{first}")


def _ask(source: HubSource, web: Web) -> ModelInfo:
    """One question to the hub. Raises ModelError where asking again changes nothing, else TryAgain."""
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    from reame_core.models.download.web import TryAgain, refusal

    shown, endpoint = printable(source.repository), hub_endpoint()
    try:
        return HfApi(endpoint=endpoint).model_info(
            source.repository, revision=source.revision, files_metadata=True, timeout=web.timeout_s
        )
    except GatedRepoError:
        raise ModelError(
            f"{shown} asks for a licence to be accepted: do that at {endpoint}/{shown}, then set HF_TOKEN"
        ) from None
    except RevisionNotFoundError:
        raise ModelError(f"{shown} has no revision {printable(source.revision)}") from None
    except RepositoryNotFoundError:
        raise ModelError(
            f"there is no repository {shown} at {endpoint}, or it is private: check the name, or set HF_TOKEN"
        ) from None
    except HFValidationError:
        raise ModelError(f"{shown} cannot be the name of a repository") from None
    except OfflineModeIsEnabled:
        raise ModelError(f"{shown} is not asked for: HF_HUB_OFFLINE is set") from None
    except HfHubHTTPError as error:
        raise refusal(error.response, shown) from None
    except httpx2.TransportError as error:
        if isinstance(error, httpx2.UnsupportedProtocol):
            raise ModelError(f"HF_ENDPOINT is {printable(endpoint)}, which is no web address") from None
        raise TryAgain(f"no answer from {endpoint} ({type(error).__name__})") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, ImportError, TypeError, KeyError, ValueError) as error:
        raise ModelError(
            f"{endpoint} does not answer like a hub ({printable(error)}): check HF_ENDPOINT"
        ) from None


def _headers() -> tuple[tuple[str, str], ...]:
    """Who asks, and the user's token where there is one; see ``RemoteFile.headers``."""
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # documented to be there

    return tuple(build_hf_headers(library_name="reame").items())
