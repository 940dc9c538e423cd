"""The plugins of an earlier version, installed as pip does it and run by the real plugin manager on the fake
model."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.request import Request, SamplingParams
from reame_core.plugins.api import PluginContext
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.report import PluginReport
from reame_core.plugins.selection import PluginSelection
from reame_core.testing import FakeBackend, plain_answers, prompt_of, run

HERE = Path(__file__).parent


class Incompatible(AssertionError):
    """A plugin that worked with an earlier version does not work with this one."""


def install(version: str, site: Path) -> list[importlib.metadata.EntryPoint]:
    """Put the packages frozen with ``version`` into ``site``, with the metadata that pip would write, and say
    what is found there."""
    for project in sorted((HERE / version / "packages").iterdir()):
        table = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
        package = table["name"].replace("-", "_")
        shutil.copytree(project / package, site / package, ignore=shutil.ignore_patterns("__pycache__"))
        info = site / f"{package}-{table['version']}.dist-info"
        info.mkdir()
        metadata = [f"Name: {table['name']}", f"Version: {table['version']}"]
        metadata += [f"Requires-Dist: {each}" for each in table["dependencies"]]
        (info / "METADATA").write_text("Metadata-Version: 2.4\n" + "\n".join(metadata) + "\n")
        points = [f"{name} = {target}" for name, target in table["entry-points"]["reame"].items()]
        (info / "entry_points.txt").write_text("[reame]\n" + "\n".join(points) + "\n")
    found = importlib.metadata.distributions(path=[str(site)])
    return [point for each in found for point in each.entry_points.select(group="reame")]


@contextmanager
def importable(site: Path) -> Iterator[None]:
    """Packages of ``site`` can be imported, and are forgotten afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(site))
    try:
        yield
    finally:
        sys.path.remove(str(site))
        for name in set(sys.modules) - before:
            if re.match(r"reame_old_|reame_plugin_file_", name):
                del sys.modules[name]


def check_reports(reports: list[PluginReport]) -> None:
    """Raise Incompatible where one of these plugins cannot be used. What is deprecated can."""
    wrong = [f"{report.name}: {report.why}" for report in reports if report.state != "active"]
    if wrong:
        raise Incompatible("; ".join(wrong))


def hook_examples(version: str) -> PluginManager:
    """One plugin for each hook there was."""
    manager = PluginManager(PluginSelection(folder=HERE / version / "hooks"), entry_points=[])
    check_reports(manager.report())
    return manager


def examples(version: str) -> PluginManager:
    manager = PluginManager(PluginSelection(folder=HERE / version / "examples"), entry_points=[])
    check_reports(manager.report())
    return manager


def packages(version: str, site: Path) -> PluginManager:
    """To be used while ``site`` is ``importable``."""
    manager = PluginManager(builtins=BUILT_IN_PLUGINS, entry_points=install(version, site))
    check_reports(manager.report())
    return manager


MODEL = {"replies": {"Sing!": "one two three, one two three, one two three, one two three"}}
REQUESTS = (
    Request(prompt=prompt_of("Sing!"), max_tokens=60),
    Request(prompt=prompt_of("def average(values):\n    total = 0\n    for val"), max_tokens=24),
    Request(
        prompt=prompt_of("how many?"),
        max_tokens=12,
        n=5,
        select=True,
        sampling=SamplingParams(temperature=0.8, seed=1),
    ),
)


def check_engine(manager: PluginManager, options: dict[str, dict[str, object]]) -> dict[str, int]:
    """Answer ``REQUESTS`` twice, with a restart in between, by an engine with the plugins. How many tokens each
    plugin restored or had accepted; raises Incompatible where an answer is another or a hook fails."""
    helped: dict[str, int] = {}
    for _ in range(2):
        backend = FakeBackend(**MODEL)
        manager.startup(
            lambda name, backend=backend: PluginContext(  # type: ignore[misc]
                backend.info,
                options.get(name, {}),
                {"model": "fake"},
                "fake",
                backend.piece,
                backend.tokenize,
            )
        )
        engine = Engine(
            backend, EngineOptions(context_length=256, parallel=5, price_drafts=False), manager.engine_hooks()
        )
        for request in REQUESTS:
            answers = run(engine, request)[0]
            for answer, plain in zip(answers, plain_answers(request, **MODEL), strict=True):
                if answer.finished is None or (answer.finished.reason != "cancelled" and answer.said != plain):
                    raise Incompatible(f"{request!r} is answered by {answer.said} and not by {plain}")
                for source, (_, accepted) in answer.usage.drafts.items():
                    helped[source] = helped.get(source, 0) + accepted
                for source, tokens in answer.usage.reused.items():
                    helped[source] = helped.get(source, 0) + tokens
        manager.shutdown()
    failed = {key: count for key, count in manager.error_counts().items() if count}
    if failed:
        raise Incompatible(f"hooks failed: {failed}")
    return helped
