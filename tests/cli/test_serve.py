"""The command ``reame serve``; the server itself is tested in tests/server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from reame_core.cli.app import reame
from reame_core.cli.manual import SettingOption

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    from reame_core.config import Settings
    from tests.cli.conftest import FakeSession

    Invoke = Callable[..., Result]


class FakeServer:
    """Stands in for the server; opens the model and is done."""

    settings: Settings

    def serve(self, settings: Settings, open_model: Callable[..., Any], note: Callable[[str], None]) -> None:
        self.settings = settings
        with open_model(note):
            note("serving")


@pytest.fixture
def server(session: FakeSession, monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    fake = FakeServer()
    module = ModuleType("reame_core.server.serve")
    module.serve = fake.serve  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return fake


def test_flags_are_settings(server: FakeServer, session: FakeSession, invoke: Invoke) -> None:
    flags = ("--host", "::1", "--port", "0", "--api-key", "a:1", "--api-key", "2", "--parallel", "2")
    more = ("--grace", "3", "--log-format", "json", "--log-level", "debug", "--allow-public-without-key")
    result = invoke("serve", "tiny", *flags, *more)
    assert result.exit_code == 0
    assert result.stderr == "loading tiny\nserving\n"
    assert result.stdout == ""
    values = server.settings.values
    assert (values.server.host, values.server.port, values.server.api_key) == ("::1", 0, ("a:1", "2"))
    assert (values.engine.parallel, values.server.grace_s, values.server.allow_public) == (2, 3, True)
    assert (values.server.log_format, values.server.log_level) == ("json", "debug")
    assert session.model == "tiny"
    assert session.log == ["session closed"]


def test_the_model_may_come_from_the_settings(
    server: FakeServer, session: FakeSession, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAME_MODEL__PATH", "other")
    assert invoke("serve").exit_code == 0
    assert session.model == "other"


def test_no_model(server: FakeServer, invoke: Invoke) -> None:
    result = invoke("serve")
    assert result.exit_code == 2
    assert result.stderr == "error: no model: name one after serve, or set model.path\n"


def test_run_with_serve(server: FakeServer, session: FakeSession, invoke: Invoke) -> None:
    assert invoke("run", "tiny", "--serve").exit_code == 0
    assert session.model == "tiny"
    refused = invoke("run", "tiny", "Hello", "--serve")
    assert refused.exit_code == 2
    assert "takes no prompt" in refused.stderr


@pytest.mark.parametrize(("flag", "value"), [("--port", "70000"), ("--log-level", "loud"), ("--grace", "-1")])
def test_wrong_values(server: FakeServer, invoke: Invoke, flag: str, value: str) -> None:
    result = invoke("serve", "tiny", flag, value)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {flag} must be ")


def test_help_does_not_import_the_server() -> None:
    code = (
        "import sys; from reame_core.cli.app import reame; reame(['serve', '--help'], standalone_mode=False);"
        "sys.exit(any(name in sys.modules for name in ('litestar', 'uvicorn', 'structlog', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_every_flag_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    documented = dict(
        re.findall(r"^\| `(--[a-z-]+)(?: [A-Z]+)?` \| (?:adds to )?`([a-z._]+)` \|$", page, re.MULTILINE)
    )
    settings = {
        option.opts[0]: option.setting
        for option in reame.commands["serve"].params
        if isinstance(option, SettingOption) and option.opts[0] not in shared_flags()
    }
    assert documented == settings


def shared_flags() -> set[str]:
    """Those that ``reame config`` has too: docs/configuration.md lists them."""
    return {name for option in reame.commands["config"].params for name in option.opts}
