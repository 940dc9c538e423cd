"""Which files of a repository make up the model somebody wants."""

from __future__ import annotations

import re

from reame_core.errors import ModelError
from reame_core.models.model_file import first_shard_or_whole, shard_names, shard_stem
from reame_core.models.wording import alternatives, nearest, printable

PREFERRED = ("Q4_K_M", "Q4_K_S", "Q4_1", "Q4_0", "IQ4_XS", "Q5_K_M", "Q3_K_M", "Q6_K", "Q8_0", "F16", "BF16")
"""For somebody who does not say which: small enough for a CPU and still close to the original."""

_NO_MODEL = re.compile(r"mmproj|imatrix|-lora", re.IGNORECASE)


def choose_file(listing: list[str], wanted: str | None, repository: str) -> str:
    """The path of the file, or of the first part of a split one, among the paths of a repository's
    ``listing``. Raises ModelError where there is none, or none that could be meant."""
    models = sorted(path for path in listing if _is_model(path))
    shown = f"hf:{printable(repository)}"
    if not models:
        raise ModelError(f"{shown} has no GGUF file: look for a repository whose name ends with -GGUF")
    if wanted is None:
        return models[0] if len(models) == 1 else _preferred(models, shown)
    for path in models:
        parts = shard_names(path)
        if wanted in parts or wanted in map(_file_name, parts):
            return path
    ends = [path for path in models if _quantised_as(path, wanted)]
    if len(ends) == 1:
        return ends[0]
    names = {_file_name(path): path for path in models}
    close = [_file_name(path) for path in ends] or nearest(_file_name(wanted), names)
    hint = f"did you mean {alternatives(close)}?" if close else f"it has {alternatives(list(names)[:3])}"
    raise ModelError(f"{shown} has no file {printable(wanted)!r}: {hint}")


def files_of_split(listing: list[str], first: str) -> list[str]:
    """``first`` and the further parts of it. Raises ModelError where the repository lacks one."""
    parts = shard_names(first)
    missing = [_file_name(part) for part in parts if part not in listing]
    if missing:
        raise ModelError(
            f"{printable(_file_name(first))} is a model in {len(parts)} files, and the repository lacks "
            f"{alternatives(missing[:3])}"
        )
    return parts


def _is_model(path: str) -> bool:
    """Names that lead out of a folder, or could on another system, are none."""
    if "\\" in path or not path.isprintable() or path.startswith("/") or ".." in path.split("/"):
        return False
    name = _file_name(path)
    return first_shard_or_whole(name) and not _NO_MODEL.search(name) and not name.startswith(".")


def _preferred(models: list[str], shown: str) -> str:
    for quantisation in PREFERRED:
        fitting = [path for path in models if _quantised_as(path, quantisation)]
        if len(fitting) == 1:
            return fitting[0]
    names = [_file_name(path) for path in models]
    raise ModelError(f"{shown} has {len(models)} models: say which, as in {shown}:{printable(names[0])}")


def _quantised_as(path: str, quantisation: str) -> bool:
    stem = shard_stem(_file_name(path)).casefold()
    return bool(re.search(rf"(?:^|[-_.]){re.escape(quantisation.casefold())}$", stem))


def _file_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
