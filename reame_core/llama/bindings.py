"""The one door to llama-cpp-python: its environment, its log, and the few calls its bindings lack.

Everything else in this package takes llama.cpp from ``lib`` here.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from collections import deque
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

SPIN_COUNT = "5000"
"""How often a GNU OpenMP thread looks before it sleeps at a barrier. The default spins for milliseconds:
beside another busy process the threads then wait for each other's time slices, and decoding falls to a fifth or
far less. A thread that sleeps at once is woken too late: with 1000, repacked weights of a 1.5B model decode 8 %
slower on a quiet machine than with 5000, which is as fast as the default."""


def _calm_openmp() -> None:
    """Set libgomp's waiting before it is loaded, which is when it reads the environment."""
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT


def _bindings_alone() -> ModuleType:
    """``llama_cpp.llama_cpp`` without what the package's own ``__init__`` imports beside it (its Python API,
    chat formats, grammars), which nobody here uses and which costs up to a tenth of a second at every start.
    Whoever imports ``llama_cpp`` later gets all of it."""
    package = "llama_cpp"
    if package in sys.modules:
        return import_module(f"{package}.{package}")
    spec = find_spec(package)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    sys.modules[package] = module_from_spec(spec)
    try:
        return import_module(f"{package}.{package}")
    finally:
        del sys.modules[package]


_calm_openmp()

if TYPE_CHECKING:
    from llama_cpp import llama_cpp as lib
else:
    lib = _bindings_alone()

__all__ = [
    "AbortFlag",
    "build_version",
    "extra_buffer_types",
    "last_complaints",
    "lib",
    "read_string",
    "system_info",
]

log = logging.getLogger("reame.llama")

_WARN, _ERROR = 3, 4
_complaints: deque[str] = deque(maxlen=8)


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _: object) -> None:
    line = text.decode(errors="replace").strip()
    if not line:
        return
    if level in (_WARN, _ERROR):
        _complaints.append(line)
    log.debug("%s", line)


lib.llama_log_set(_on_log, None)
lib.llama_backend_init()


def last_complaints() -> list[str]:
    """llama.cpp's latest warnings and errors, oldest first, and forget them."""
    lines = list(_complaints)
    _complaints.clear()
    return lines


@cache
def build_version() -> str:
    """Which build of llama.cpp this is: version of the bindings and the library's own size and time, since
    two builds of one version may hold different kernels."""
    library = Path(lib._lib._name)
    stat = library.stat()
    return f"llama-cpp-python {metadata.version('llama-cpp-python')} {stat.st_size} {stat.st_mtime_ns}"


def system_info() -> str:
    """What this build of llama.cpp can use of the processor, as llama.cpp writes it."""
    text: bytes = lib.llama_print_system_info()
    return text.decode(errors="replace").strip()


def read_string(call: object, *arguments: object) -> str:
    """The text that a llama.cpp function of the form (..., buffer, size) -> length writes."""
    size = 256
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = call(*arguments, buffer, size)  # type: ignore[operator]
        if length < size:
            return buffer.value.decode(errors="replace") if length >= 0 else ""
        size = length + 1


class AbortFlag:
    """What llama.cpp looks at between two operations of a batch. It asks a C function, so that no thread that
    computes ever waits for Python: the length of a text, which is 0 (go on) or 1 (abort)."""

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(2)
        library = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
        self._callback = ctypes.cast(library.strlen, lib.ggml_abort_callback)

    def watch(self, context: object) -> None:
        """Let batches of ``context`` end early while the flag is set. The flag has to outlive the context."""
        lib.llama_set_abort_callback(context, self._callback, ctypes.cast(self._text, ctypes.c_void_p))

    def set(self) -> None:
        """Abort; any thread may call it."""
        self._text[0] = b"\x01"

    def clear(self) -> None:
        """Go on."""
        self._text[0] = b"\x00"


@cache
def extra_buffer_types() -> dict[str, int]:
    """Addresses of ggml's extra CPU buffer types (repacked weights) by name. Empty where the platform's
    libraries cannot be reached this way."""
    if not sys.platform.startswith("linux"):
        return {}
    folder = Path(lib._lib._name).parent
    try:
        # By the very names the dependency entries use: another copy of the file would be another library.
        cpu = ctypes.CDLL(str(folder / "libggml-cpu.so.0"))
        base = ctypes.CDLL(str(folder / "libggml-base.so.0"))
        return _list_extra_buffer_types(cpu, base)
    except (OSError, AttributeError) as error:
        log.debug("no extra buffer types: %s", error)
        return {}


def _list_extra_buffer_types(cpu: ctypes.CDLL, base: ctypes.CDLL) -> dict[str, int]:
    pointer = ctypes.c_void_p
    cpu.ggml_backend_cpu_reg.restype = pointer
    address_of = base.ggml_backend_reg_get_proc_address
    address_of.restype, address_of.argtypes = pointer, [pointer, ctypes.c_char_p]
    device_of = base.ggml_backend_reg_dev_get
    device_of.restype, device_of.argtypes = pointer, [pointer, ctypes.c_size_t]
    name_of = base.ggml_backend_buft_name
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [pointer]

    registry = cpu.ggml_backend_cpu_reg()
    address = address_of(registry, b"ggml_backend_dev_get_extra_bufts")
    if not address:
        return {}
    list_types = ctypes.CFUNCTYPE(ctypes.POINTER(pointer), pointer)(address)
    types = list_types(device_of(registry, 0))
    found: dict[str, int] = {}
    index = 0
    while types and types[index]:
        found[name_of(types[index]).decode()] = types[index]
        index += 1
    return found
