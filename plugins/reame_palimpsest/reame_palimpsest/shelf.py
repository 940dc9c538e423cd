"""One tenant's archive as one process holds it: its own log, the logs of others, and the sealed rest."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from reame_palimpsest.folders import locked, make_folder
from reame_palimpsest.generations import Generation
from reame_palimpsest.limits import Limits
from reame_palimpsest.live import LiveTail
from reame_palimpsest.log_file import SUFFIX as LOG
from reame_palimpsest.log_file import ForeignFile, LogReader, LogWriter, forget_mark, forgotten_up_to
from reame_palimpsest.segment import Segment
from reame_palimpsest.segment_file import SUFFIX as SEGMENT
from reame_palimpsest.segment_file import DamagedFile
from reame_palimpsest.upkeep import remove_damaged, remove_log, tidy, write_segments
from reame_palimpsest.view import View

log = logging.getLogger("reame.palimpsest")

_REPEATED_WITHIN = 86_400
"""Seconds within which the same answer is not archived again."""
_UNSEALED = 8
"""Times the usual size that a tail may have which cannot be sealed; then nothing is added any more."""
_RETRY_AFTER = 60
"""Seconds after which sealing is tried again where it has failed."""
_OTHERS_FOLLOWED = 4
"""Logs of other processes that are looked at, the latest ones."""
_PATIENCE = 0.2
_WARNED_AGAIN_AFTER = 3600


class Shelf:
    """All methods belong to one thread, except that any may read ``view``. No method raises OSError: what the
    disk refuses is said once, and memory serves as far as it goes."""

    def __init__(self, folder: Path, tokenizer: str, limits: Limits, clock: Callable[[], float]) -> None:
        self.view = View()
        self._folder = folder
        self._tokenizer = tokenizer
        self._limits = limits
        self._clock = clock
        self._log: LogWriter | None = None
        self._tail = LiveTail()
        self._others: dict[Path, tuple[LogReader, LiveTail]] = {}
        self._segments: dict[Path, Segment] = {}
        self._ignored: set[Path] = set()
        self._warned: dict[str, float] = {}
        self._seal_after = 0.0

    def add(self, generation: Generation) -> bool:
        """Archive ``generation``; False for one that is there already or finds no room."""
        if self._is_repetition(generation):
            return False
        if self._tail.words > _UNSEALED * self._limits.live_words:
            return False
        try:
            if self._log is None:
                make_folder(self._folder)
                self._log = LogWriter(self._folder, self._tokenizer)
            self._log.append(generation)
        except OSError as error:
            self._warn("write", "cannot archive anything in %s: %s", self._folder, error.strerror)
        self._tail.add(generation)
        self._publish()
        if self._tail.words >= self._limits.live_words and self._clock() >= self._seal_after:
            self.seal()
            self.tidy()
        return True

    def _is_repetition(self, generation: Generation) -> bool:
        recent = generation.time - _REPEATED_WITHIN
        return any(
            each.time >= recent and each.answer[: len(generation.answer)].tolist() == generation.answer.tolist()
            for each in self.view.answers_to(generation.prompt_key)
        )

    def seal(self) -> None:
        """Make a segment of this process's log. Its generations stay searchable throughout."""
        if not self._tail.words:
            return
        self._seal_after = self._clock() + _RETRY_AFTER
        try:
            with locked(self._folder, _PATIENCE) as mine:
                if not mine:
                    return
                forgotten = forgotten_up_to(self._log.path) if self._log else 0
                cutoff = max(forgotten, self._limits.expired(self._clock()))
                kept = [each for each in self._tail.generations if each.time > cutoff]
                paths = write_segments(self._folder, self._tokenizer, kept, self._limits.segment_words)
                if self._log is not None:
                    remove_log(self._log.path)
        except OSError as error:
            self._warn("seal", "cannot seal anything in %s: %s", self._folder, error.strerror)
            return
        self._close_log()
        self._tail = LiveTail()
        self._seal_after = 0.0
        for path in paths:
            self._open(path)
        self._publish()

    def tidy(self) -> None:
        """Merge, expire, take over what dead processes have left; somebody else may be doing it already."""
        if self._tail.words and self._tail.oldest <= self._limits.expired(self._clock()):
            self.seal()
        try:
            if self._folder.is_dir():
                with locked(self._folder, patience=0) as mine:
                    if mine:
                        tidy(self._folder, self._tokenizer, self._limits, self._clock())
        except OSError as error:
            self._warn("tidy", "cannot tidy %s: %s", self._folder, error.strerror)
        self.refresh()

    def refresh(self) -> None:
        """See what others have written or removed since the last time."""
        try:
            names = {path for path in self._folder.iterdir() if path.suffix in (SEGMENT, LOG)}
        except FileNotFoundError:
            names = set()
        except OSError as error:
            self._warn("read", "cannot read %s: %s", self._folder, error.strerror)
            return
        segments = {path for path in names if path.suffix == SEGMENT}
        for path in self._segments.keys() - segments:
            del self._segments[path]
        for path in sorted(segments - self._segments.keys()):
            self._open(path)
        self._follow({path for path in names - segments if self._log is None or path != self._log.path})
        if self._log is not None and forget_mark(self._log.path).exists():
            self.seal()
        self._publish()

    def _open(self, path: Path) -> None:
        if path in self._ignored:
            return
        try:
            self._segments[path] = Segment(path, self._tokenizer)
        except FileNotFoundError:
            pass
        except (OSError, ForeignFile, DamagedFile) as error:
            self._ignored.add(path)
            remove_damaged(path, error)
            if not isinstance(error, DamagedFile):
                log.warning("%s is ignored: it %s", path, _reason(error))

    def _follow(self, logs: set[Path]) -> None:
        followed = set(sorted(logs, key=lambda path: path.name)[-_OTHERS_FOLLOWED:])
        for path in self._others.keys() - followed:
            del self._others[path]
        for path in followed:
            try:
                cutoff = forgotten_up_to(path)
                if cutoff:  # read again what is left
                    self._others.pop(path, None)
                reader, tail = self._others.setdefault(path, (LogReader(path, self._tokenizer), LiveTail()))
                decoded = reader.read()
            except FileNotFoundError:
                self._others.pop(path, None)
            except (OSError, ForeignFile) as error:
                self._others.pop(path, None)
                self._warn(str(path), "%s is ignored: it %s", path, _reason(error))
            else:
                for each in decoded.generations:
                    if each.time > cutoff:
                        tail.add(each)

    def _publish(self) -> None:
        tails = [self._tail, *(tail for _, tail in self._others.values())]
        self.view = View(
            tails=tuple(sorted((tail for tail in tails if tail.words), key=lambda each: -each.newest)),
            segments=tuple(sorted(self._segments.values(), key=lambda each: -each.newest)),
            cutoff=self._limits.expired(self._clock()),
        )

    def _warn(self, about: str, message: str, *arguments: object) -> None:
        now = self._clock()
        if now - self._warned.get(about, -_WARNED_AGAIN_AFTER) >= _WARNED_AGAIN_AFTER:
            self._warned[about] = now
            log.warning(message, *arguments)

    def close(self) -> None:
        """Seal what can be sealed; the rest is left for others to find."""
        self.seal()
        self._close_log()

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None


def _reason(error: Exception) -> str:
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
