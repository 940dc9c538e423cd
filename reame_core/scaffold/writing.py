"""Fills the templates in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from reame_core.errors import UsageError
from reame_core.plugins.names import normalise
from reame_core.plugins.selection import RESERVED_NAMES
from reame_core.scaffold.kinds import Kind

_SUFFIX = ".jinja"
_PACKAGE = "PACKAGE"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST = 50


@dataclass(frozen=True, slots=True)
class PluginName:
    """The name of a plugin and those that follow from it."""

    plugin: str

    @classmethod
    def parse(cls, text: str) -> PluginName:
        """``My_Drafter`` and ``reame-my-drafter`` are ``my-drafter``. Raises UsageError, with a name that would
        do where there is one."""
        name = normalise(text).removeprefix("reame-")
        if not _NAME.fullmatch(name) or len(name) > _LONGEST:
            better = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-").lstrip("0123456789-")[:_LONGEST]
            hint = f", such as {better!r}" if _NAME.fullmatch(better) else ""
            raise UsageError(
                f"{text!r} cannot be the name of a plugin: use up to {_LONGEST} small letters, digits and "
                f"single hyphens, a letter first{hint}"
            )
        if name in RESERVED_NAMES or name == "core":
            raise UsageError(f"{name!r} means something else in [plugins]: choose another name")
        return cls(name)

    @property
    def distribution(self) -> str:
        return f"reame-{self.plugin}"

    @property
    def package(self) -> str:
        return self.distribution.replace("-", "_")

    @property
    def class_name(self) -> str:
        return "".join(part.capitalize() for part in self.plugin.split("-"))


def write_plugin(name: PluginName, kind: Kind, into: Path, *, reame: str) -> list[Path]:
    """Write a package called like the plugin's distribution into the folder ``into``; the files' paths.
    ``reame`` is the version of Reame it is made for. Raises UsageError where it is there already."""
    from jinja2 import Environment, StrictUndefined

    target = into / name.distribution
    if target.exists():
        raise UsageError(f"{target} is there already: choose another name or another folder (--into)")
    major, minor = (int(part) for part in reame.split(".")[:2])
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    values = {
        "name": name.plugin,
        "title": name.plugin.replace("-", " ").capitalize(),
        "distribution": name.distribution,
        "package": name.package,
        "class_name": name.class_name,
        "kind": kind.name,
        "summary": kind.summary,
        "options": kind.options,
        # What works with one minor version works with the next one: see docs/api-stability.md.
        "requirements": [f"reame>={major}.{minor},<{major}.{minor + 2}", *kind.requirements],
    }
    templates = resources.files("reame_core.scaffold") / "templates"
    written = []
    for part in ("common", kind.name):
        for relative, template in _files(templates / part):
            path = target / relative.replace(_PACKAGE, name.package).removesuffix(_SUFFIX)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = template.read_text(encoding="utf-8")
            path.write_text(environment.from_string(text).render(values), encoding="utf-8")
            written.append(path)
    return sorted(written)


def _files(folder: Traversable, prefix: str = "") -> list[tuple[str, Traversable]]:
    found = []
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            found += _files(entry, f"{name}/")
        elif entry.name.endswith((_SUFFIX, "py.typed")):
            found.append((name, entry))
    return found
