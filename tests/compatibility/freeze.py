"""Keeps what plugins of the present API version look like, for all later versions to be tested with:

    python -m tests.compatibility.freeze

Done once for each minor version, when it is released. What was frozen is not changed afterwards.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from reame_core.hookspecs import API_VERSION
from reame_core.plugins.compatibility import reame_version
from reame_core.scaffold import KINDS, PluginName, write_plugin
from tests.compatibility.surface import Surface, surface
from tests.plugins.public_api import PUBLIC_MODULES

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def freeze(folder: Path) -> None:
    """Write the examples, those of docs/hooks.md, a new plugin of each kind, and the names of the API."""
    shutil.rmtree(folder, ignore_errors=True)
    examples = folder / "examples"
    examples.mkdir(parents=True)
    for path in sorted(ROOT.glob("examples/*.py")):
        shutil.copy(path, examples)
    hooks = folder / "hooks"
    hooks.mkdir()
    page = (ROOT / "docs" / "hooks.md").read_text("utf-8")
    for hook, section in re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL):
        [code] = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        (hooks / f"{hook}.py").write_text(code, "utf-8")
    for kind in KINDS.values():
        for path in write_plugin(
            PluginName(f"old-{kind.name}"), kind, folder / "packages", reame=reame_version()
        ):
            if path.suffix not in (".py", ".toml", ".typed"):
                path.unlink()
    (folder / "api.json").write_text(_as_lines(surface(PUBLIC_MODULES)), "utf-8")


def _as_lines(found: Surface) -> str:
    """JSON with a line for each name, so that people can read what differs."""

    def block(items: dict[str, str]) -> str:
        return "{\n" + ",\n".join(f"{json.dumps(name)}: {text}" for name, text in items.items()) + "\n}"

    hooks = {name: json.dumps(arguments) for name, arguments in found["hooks"].items()}
    modules = {
        module: block({name: json.dumps(what) for name, what in names.items()})
        for module, names in found["modules"].items()
    }
    return block({"hooks": block(hooks), "modules": block(modules)}) + "\n"


if __name__ == "__main__":
    freeze(HERE / API_VERSION)
