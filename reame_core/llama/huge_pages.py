"""Large pages for what is read at every token.

Decoding reads all weights once a token; in pages of 4 KB each of them needs its own address translation, which
on virtual machines is dear. Repacked weights and the KV memory are anonymous memory, which Linux can put into
pages of 2 MB: measured on a virtual machine, repacked weights of a 1.5B model decode 7 to 12 % faster.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger("reame.llama")

PAGE = 2 << 20
"""Bytes of a large page; where a machine's are of another size, the kernel refuses and nothing changes."""
LEAST = 16 << 20
"""Bytes from which on a region is worth the trouble."""
_MAPS = Path("/proc/self/maps")
_ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0\s*(?:\[heap\]|\[anon.*\])?")
_FORGET, _ADVISE, _COLLAPSE = 4, 14, 25
"""MADV_DONTNEED, for pages that can be had again from their file; MADV_HUGEPAGE, for pages to come; and
MADV_COLLAPSE (Linux 6.1), for those that are there."""

Region = tuple[int, int]


@contextmanager
def huge_pages() -> Iterator[None]:
    """Whatever is allocated in large pieces inside is put into large pages at the end, as far as the kernel
    can. Only on Linux; never an error. Takes about a second for each gigabyte."""
    if not sys.platform.startswith("linux"):
        yield
        return
    before = _anonymous_regions()
    yield
    collapsed = sum(_collapse(*region) for region in _added(before, _anonymous_regions()))
    if collapsed:
        log.debug("%d MB are in large pages", collapsed * PAGE >> 20)


def forget_mapped(path: Path) -> None:
    """Take the pages of the mapped file ``path`` out of this process's memory. Those that are read again come
    back from the system's page cache; weights that were copied into another layout do not. Only on Linux."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError):
        for line in _MAPS.read_text().splitlines():
            if line.endswith(f" {path}"):
                start, end = (int(number, 16) for number in line.split(" ", 1)[0].split("-"))
                _madvise()(start, end - start, _FORGET)


def _madvise() -> Callable[[int, int, int], int]:
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return madvise


def _anonymous_regions() -> list[Region]:
    """Writable memory of this process without a file behind it, ascending."""
    try:
        lines = _MAPS.read_text().splitlines()
    except OSError:
        return []
    found = (_ANONYMOUS.fullmatch(line) for line in lines)
    return [(int(match[1], 16), int(match[2], 16)) for match in found if match]


def _added(before: list[Region], after: list[Region]) -> Iterator[Region]:
    """The parts of ``after`` that are not in ``before`` and large enough."""
    for start, end in after:
        at = start
        for old_start, old_end in before:
            if old_end <= at or old_start >= end:
                continue
            if old_start - at >= LEAST:
                yield at, old_start
            at = old_end
        if end - at >= LEAST:
            yield at, end


def _collapse(start: int, end: int) -> int:
    """How many large pages there are in the region afterwards."""
    madvise = _madvise()
    first, last = -(-start // PAGE) * PAGE, end // PAGE * PAGE
    if first >= last or madvise(first, last - first, _ADVISE) != 0:
        return 0
    # One by one: the kernel gives up a range at its first page that nobody has used yet.
    return sum(madvise(page, PAGE, _COLLAPSE) == 0 for page in range(first, last, PAGE))
