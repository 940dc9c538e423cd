"""Reame itself, with all installed plugins or with chosen ones."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reame_bench.servers.server import Child, Contestant, Job, Running, environment
from reame_core.config.directories import directories

if TYPE_CHECKING:
    from collections.abc import Mapping

_MEASURED = "host.json"
"""What Reame has measured on this machine; see ``engine.extra_buffers``. Measuring takes minutes, once."""
_COMPUTING = {"plugins.memo.max_size_mb": 0}
"""What is asked again is computed again: whole answers from the memory of reame-memo would cost nothing, and so
tell nothing of what computing costs. Who names that plugin gets it."""


class Reame(Contestant):
    """``plugins`` None: every installed one, but for whole answers that are known. ``settings`` are those of
    the file, such as ``engine.parallel``."""

    def __init__(
        self, name: str, plugins: tuple[str, ...] | None = None, settings: Mapping[str, object] | None = None
    ) -> None:
        self.name = name
        self._plugins = plugins
        self._settings = dict(settings or {})

    def start(self, job: Job, folder: Path, port: int) -> Running:
        state = folder / "state"
        state.mkdir(exist_ok=True)
        _recall(state / _MEASURED)
        # An empty file, so that no settings of this user count.
        config = folder / "reame.toml"
        config.touch()
        settings = {
            "model.threads": job.threads,
            "model.context_length": job.context,
            "engine.parallel": job.users,
            "server.any_model": "true",
            "server.log_level": "warning",
            **(_COMPUTING if self._plugins is None and installed("memo") else {}),
            **self._settings,
        }
        if "plugins.arca.url" in settings:
            settings["plugins.arca.prefix"] = folder.name  # so that no earlier run has answered
        variables = {f"REAME_{key.replace('.', '__').upper()}": str(value) for key, value in settings.items()}
        variables |= {"REAME_HOME": str(folder), "REAME_CONFIG": str(config)}
        if self._plugins is not None:
            variables["REAME_PLUGINS"] = ",".join(self._plugins)
        command = [sys.executable, "-m", "reame_core", "serve", str(job.model), "--port", str(port)]
        clean = {key: value for key, value in environment().items() if not key.startswith("REAME_")}
        server = _Serving(command, clean | variables, folder, port, job.name)
        _keep(state / _MEASURED)
        return server

    def best_of(self, count: int) -> dict[str, object] | None:
        return {"reame": {"conclave": count}} if self._has("conclave") else None

    def _has(self, plugin: str) -> bool:
        return installed(plugin) and (self._plugins is None or plugin in self._plugins)


def installed(plugin: str) -> bool:
    """Whether Reame finds ``plugin`` here."""
    from importlib.metadata import entry_points

    return plugin in entry_points(group="reame").names


def _kept() -> Path:
    """The harness's own: the user's was perhaps measured while the machine was busy, and runs under load must
    not change it."""
    return directories().cache / "bench" / _MEASURED


def _recall(file: Path) -> None:
    if _kept().exists() and not file.exists():
        shutil.copy(_kept(), file)


def _keep(file: Path) -> None:
    """What was measured at this start, so that the next one need not."""
    if file.exists():
        _kept().parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, _kept())


class _Serving(Child):
    def facts(self) -> dict[str, object]:
        status = self.client.status("/status")
        model = status.get("model")
        return {"reame": model} if model else {}
