"""One file, from a server into its part: resumed after breaks, and checked when it is whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from reame_core.errors import ModelError
from reame_core.models.download.web import Patience, TryAgain, opened
from reame_core.models.foreign_files import BYTES_TO_LOOK_AT, what_it_is
from reame_core.models.gguf_reader import MAGIC
from reame_core.models.model_file import check_file
from reame_core.models.wording import printable

if TYPE_CHECKING:
    import httpx2

    from reame_core.models.download.part import Part
    from reame_core.models.download.progress import Progress
    from reame_core.models.download.remote import RemoteFile
    from reame_core.models.download.web import Web

WORTH_NEW_PATIENCE = 1 << 20
"""Bytes that have to come before failed attempts are forgotten: a server that sends a little each time must
not be asked for ever."""

_CONTENT_RANGE = re.compile(r"bytes\s+(?:(\d+)-\d+|\*)/(\d+|\*)")


class Transfer:
    """Fetches ``file`` into ``part`` with the requests of ``client``; people see it as ``title``."""

    def __init__(
        self,
        file: RemoteFile,
        part: Part,
        client: httpx2.Client,
        web: Web,
        progress: Progress,
        check_room: Callable[[int], None],
        title: str,
    ) -> None:
        self._file = file
        self._part = part
        self._client = client
        self._web = web
        self._progress = progress
        self._check_room = check_room
        """Raises ModelError where the disk does not hold that many more bytes."""
        self._title = title
        self._total = file.size

    def run(self) -> None:
        """Make the part whole. Raises ModelError; what is here by then stays, unless it is worth nothing."""
        self._check_what_is_here()
        self._progress.begin(self._title)
        try:
            self._get_all()
        finally:
            self._progress.end()
        if self._part.lost:
            raise ModelError(f"{self._name}: somebody removed the file while it came: pull it again")
        self._part.finish()
        self._check_form()

    def _check_what_is_here(self) -> None:
        """Reading gigabytes takes a while, and is no download."""
        part, size = self._part, self._part.size
        if size == 0:
            return
        self._progress.begin(f"reading what is here of {self._file.name}")
        try:
            part.read_back(lambda done: self._progress.update(done, size))
        finally:
            self._progress.end()

    def _get_all(self) -> None:
        part = self._part
        while True:
            began_with_a_rest = part.resumed
            self._complete()
            if self._file.sha256 is None or part.sha256 == self._file.sha256.lower():
                break
            if not began_with_a_rest:
                part.discard()
                raise ModelError(
                    f"{self._name} is not what it should be (its SHA-256 is {part.sha256}, not "
                    f"{self._file.sha256.lower()}): it was changed at its source or damaged on the way, and is "
                    "thrown away"
                )
            self._progress.say(f"{self._name}: the part that was here does not fit, fetching all of it")
            part.restart()

    @property
    def _name(self) -> str:
        return printable(self._file.name)

    def _complete(self) -> None:
        patience = Patience(self._web.telling(self._progress), self._file.name)
        known_size = self._part.size
        while not self._is_whole():
            try:
                self._request()
            except TryAgain as failure:
                if self._part.size - known_size >= WORTH_NEW_PATIENCE:
                    patience.renew()
                    known_size = self._part.size
                patience.wait(failure)
            else:
                return

    def _is_whole(self) -> bool:
        if self._file.size is None:
            return False
        if self._part.size > self._file.size:
            self._part.restart()
        return self._part.size == self._file.size

    def _request(self) -> None:
        """Ask for what is missing and take it in. Raises TryAgain where that ended before its time."""
        part = self._part
        if part.size and part.validator is None and self._file.sha256 is None:
            # Nothing would show that the file was another one when its beginning came.
            part.restart()
        with opened(
            self._client, self._file.url, self._request_headers(), self._web, self._file.name
        ) as response:
            if response.status_code == 416:
                self._beyond_the_end(response)
                return
            self._accept(response)
            self._take_in(response)
        if self._total is not None and part.size < self._total:
            raise self._cut()

    def _request_headers(self) -> dict[str, str]:
        # Compressed on the way, a file could not be continued in its middle.
        headers = {**dict(self._file.headers), "accept-encoding": "identity"}
        if self._part.size:
            headers["range"] = f"bytes={self._part.size}-"
            if self._part.validator is not None:
                headers["if-range"] = self._part.validator
        return headers

    def _beyond_the_end(self, response: httpx2.Response) -> None:
        """The server has nothing after what is here: it is whole, or it is of another file."""
        _, total = _content_range(response)
        if self._part.size and total == self._part.size:
            return
        self._part.restart()
        raise TryAgain("the part that was here does not fit")

    def _accept(self, response: httpx2.Response) -> None:
        """Judge an answer by its headers, before any of its body is used."""
        part = self._part
        if response.headers.get("content-encoding", "identity") not in ("identity", ""):
            raise ModelError(f"{response.request.url.host} sends {self._name} compressed although asked not to")
        if response.status_code == 206:
            start, total = _content_range(response)
            if start != part.size:
                part.restart()
                raise TryAgain("the server sent another piece than asked for")
        else:
            # All of it, whether the server cannot do ranges or the file has changed.
            part.restart()
            length = response.headers.get("content-length", "")
            total = int(length) if length.isdecimal() else None
        if self._file.size is not None and total not in (None, self._file.size):
            raise ModelError(
                f"{self._name} has {total:,} bytes at {response.request.url.host}, but should have "
                f"{self._file.size:,}: it was changed at its source"
            )
        self._total = self._file.size if total is None else total
        self._check_room((self._total or 0) - part.size)
        part.note(_validator(response))
        self._progress.update(part.size, self._total)

    def _take_in(self, response: httpx2.Response) -> None:
        import httpx2

        part = self._part
        start = b"" if part.size == 0 else None
        try:
            for piece in response.iter_raw():
                if start is not None and len(start) < BYTES_TO_LOOK_AT:
                    start += piece
                    self._refuse_foreign(start)
                part.append(piece)
                if self._total is not None and part.size > self._total:
                    part.discard()
                    raise ModelError(f"{self._name}: more than the promised {self._total:,} bytes came")
                self._progress.update(part.size, self._total)
        except httpx2.TimeoutException:
            raise TryAgain(f"nothing more came for {self._web.timeout_s:g} s") from None
        except httpx2.TransportError:
            raise self._cut() from None
        if part.size == 0:
            raise TryAgain("nothing came")

    def _cut(self) -> TryAgain:
        of = f" of {self._total:,}" if self._total is not None else ""
        return TryAgain(f"the connection was cut after {self._part.size:,}{of} bytes")

    def _refuse_foreign(self, start: bytes) -> None:
        """End at once where somebody sends a login page instead of gigabytes."""
        if start[:4] != MAGIC[: len(start)]:
            self._part.discard()
            raise ModelError(f"what came for {self._name} {what_it_is(start[:BYTES_TO_LOOK_AT])}")

    def _check_form(self) -> None:
        """Without a checksum this is all there is to tell a whole file from a cut one."""
        try:
            check_file(self._part.path)
        except ModelError:
            self._part.discard()
            raise


def _content_range(response: httpx2.Response) -> tuple[int | None, int | None]:
    """Where the piece begins, and how large the whole is."""
    found = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())
    if not found:
        return None, None
    start, total = found.groups()
    return (int(start) if start else None), (None if total == "*" else int(total))


def _validator(response: httpx2.Response) -> str | None:
    """For ``If-Range``, which takes only strong tags."""
    tag: str | None = response.headers.get("etag")
    if tag and not tag.startswith("W/"):
        return tag
    modified: str | None = response.headers.get("last-modified")
    return modified
