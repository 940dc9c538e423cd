"""``reame run --json-schema``, ``--regex`` and ``--grammar``."""

from __future__ import annotations

from pathlib import Path

import pytest
from reame_suggeritore import Suggeritore
from reame_suggeritore.structured.fields import ANSWER_FIELDS

from reame_core.cli.plugin_options import PLUGIN_OF, offered
from reame_core.plugins.api import RunOption
from reame_core.plugins.manager import PluginManager


@pytest.fixture
def options() -> dict[str, RunOption]:
    manager = PluginManager(builtins=(("suggeritore", Suggeritore()),), entry_points=[])
    return {option.option: option for option in offered(manager)}


def test_options_are_fields(options: dict[str, RunOption]) -> None:
    assert set(options) == {"--json-schema", "--regex", "--grammar"}
    assert {option.field for option in options.values()} <= ANSWER_FIELDS
    assert {PLUGIN_OF[name] for name in options} == {"suggeritore"}


def test_files_are_read(options: dict[str, RunOption], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text('{"type": "null"}')
    assert options["--json-schema"].read(str(file)) == {"type": "null"}
    assert options["--grammar"].read(str(file)) == '{"type": "null"}'
    assert options["--regex"].read("a+") == "a+"


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000, None])
def test_files_that_cannot_be_read_are_one_line(
    options: dict[str, RunOption], tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=r"file (is|cannot)") as caught:
        options["--json-schema"].read(str(file))
    assert "\n" not in str(caught.value)
