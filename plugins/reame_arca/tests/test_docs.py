"""What docs/arca.md says is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
from reame_arca.options import Options, read_options

PAGE = (Path(__file__).parents[3] / "docs" / "arca.md").read_text("utf-8")


def block(language: str) -> str:
    [found] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_compose_file_is_one() -> None:
    compose: dict[str, Any] = msgspec.yaml.decode(block("yaml"))
    [service] = compose["services"].values()
    assert service["image"].startswith("valkey/valkey:")
    command = service["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "volatile-lru"
    assert service["ports"] == ["127.0.0.1:6379:6379"], "never open to the world"


def test_the_settings_are_settings(tmp_path: Path) -> None:
    table = tomllib.loads(block("toml"))["plugins"]["arca"]
    for name in ("password_file", "secret_file"):
        table[name] = str(tmp_path / name)
        (tmp_path / name).write_text("a secret that nobody guesses")
    read_options(table)


def test_every_option_is_explained_with_its_default() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|([^|]*)\|", PAGE, re.MULTILINE)
    explained = {name: default.strip() for names, default in rows for name in re.findall(r"`(\w+)`", names)}
    defaults = msgspec.structs.asdict(Options())
    later = {name for name in defaults if name.startswith(("blocks", "generations"))}
    assert defaults.keys() - later <= explained.keys()
    for name, default in explained.items():
        if re.fullmatch(r"`[^`]*`", default) and name in defaults:
            value = defaults[name]
            assert default == f"`{value if isinstance(value, str) else msgspec.json.encode(value).decode()}`", (
                name
            )
