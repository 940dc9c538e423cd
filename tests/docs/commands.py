"""Commands as the pages show them, read as a shell reads them, and run as far as that needs no model, no
network and no other program."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner
from packaging.requirements import Requirement
from reame_bench.servers.choice import FORMS
from reame_bench.workloads.catalogue import BY_NAME

from bench.cli import main as python_m_bench
from reame_core.cli.app import reame
from reame_core.cli.plugin_options import RunCommand, offered
from reame_core.plugins.manager import PluginManager
from tests.docs.pages import ROOT, SERVER, Block

OPERATORS = {"|", "||", "&&", ";", "&"}
REDIRECTIONS = {"<", ">", ">>", "2>"}
OTHER_PROGRAMS = {
    *(".ci/run", "apt-get", "cat", "eval", "export", "git", "hf", "journalctl", "mkdir", "nginx", "podman"),
    *("python3", "sudo", "systemctl", "systemd-analyze", "twine", "uv"),
}
"""Not ours: what they are asked to do is not looked at."""
NOT_RUN = {"doctor", "bench", "arca"}
"""Commands that only have their words checked: they need a real model or a store, or take minutes."""
NEVER_RUN = {"--schedule", "--serve", "MODEL", "hf:ORG/REPO"}
"""Words that make it so for other commands."""
USAGE = 2
NOTHING_THERE = ("error: there is no cache", "error: no server of this user runs here")
"""What is right to be said where nothing was stored and no server runs."""
_QUESTION = "Name a fish.\n"
_CONTENTS = {
    ".json": '{"messages": [{"role": "user", "content": "Name a fish."}]}\n',
    ".jsonl": '{"prompt": "Name a fish."}\n',
    ".gbnf": 'root ::= "yes" | "no"\n',
    ".txt": _QUESTION,
    ".md": _QUESTION,
    ".gguf": "",
}
"""Of files that a page speaks of without showing them."""


def commands_of(block: Block) -> list[str]:
    """The commands of a ``console`` (behind ``$``) or ``sh`` block, without what they print."""
    found: list[str] = []
    for line in block.text.splitlines():
        if found and _unfinished(found[-1]):
            found[-1] += f"\n{line}"
        elif block.language == "sh" and line.strip():
            found.append(line)
        elif line.startswith("$ "):
            found.append(line.removeprefix("$ "))
    return [each for each in found if _words(each)]


def _unfinished(command: str) -> bool:
    if command.endswith("\\"):
        return True
    try:
        _words(command)
    except ValueError:  # within quotes
        return True
    return False


def _words(command: str) -> list[str]:
    reader = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars="|&;<>")
    reader.whitespace_split = True
    reader.commenters = "#"
    return list(reader)


@dataclass(slots=True)
class Simple:
    """One program that a line runs, without redirections."""

    words: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)


def simple_commands(command: str) -> list[Simple]:
    found = [Simple()]
    words = iter(_words(command))
    for word in words:
        if word in OPERATORS:
            found.append(Simple())
        elif word in REDIRECTIONS:
            next(words)
        elif not found[-1].words and re.fullmatch(r"\w+=.*", word, re.DOTALL):
            name, _, value = word.partition("=")
            found[-1].variables[name] = value
        else:
            found[-1].words.append(word)
    return [each for each in found if each.words]


@dataclass
class Shell:
    """Runs the commands of one page in ``folder``; ``server`` stands in for the one at ``SERVER``."""

    folder: Path
    server: str
    ran: list[str] = field(default_factory=list)
    """The commands of Reame that were run, not only looked at."""

    def run(self, command: str) -> None:
        """Raises AssertionError where something about ``command`` is wrong."""
        for simple in simple_commands(command):
            program, *arguments = simple.words
            if program == "reame":  # whose servers may be asked
                arguments = [word.replace(SERVER.removeprefix("http://"), self.server) for word in arguments]
            match program:
                case "reame":
                    self._reame(arguments, simple.variables)
                case "curl":
                    self._curl(arguments)
                case "pip":
                    check_pip(arguments)
                case "python":
                    self._python(arguments)
                case "uv" if arguments[0] == "run" and arguments[1] in ("reame", "python"):
                    self.run(shlex.join(arguments[1:]))
                case "cd":
                    self.folder = self.folder / arguments[0]
                    assert self.folder.is_dir(), command
                case "pytest":
                    self._pytest(arguments)
                case _:
                    assert program in OTHER_PROGRAMS, f"nobody tries {program!r}: {command}"

    def _reame(self, arguments: list[str], variables: dict[str, str]) -> None:
        for word in arguments:
            self._make_file(word)
        if not arguments or arguments[0] in NOT_RUN or NEVER_RUN & set(arguments):
            check_words(arguments, self.folder)
            return
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            result = CliRunner(env=variables).invoke(reame, arguments, input=_QUESTION)
        finally:
            os.chdir(before)
        nothing_there = result.exit_code == USAGE and result.output.startswith(NOTHING_THERE)
        assert result.exit_code == 0 or nothing_there, f"reame {arguments}: {result.output}"
        self.ran.append(arguments[0])

    def _make_file(self, word: str) -> None:
        """Where ``word`` is the name of a file that the page speaks of without showing it."""
        path = self.folder / word
        if path.exists() or ":" in word or not (path.suffix in _CONTENTS or word.startswith("./")):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_CONTENTS.get(path.suffix, ""))

    def _python(self, arguments: list[str]) -> None:
        check_python(arguments)
        if arguments[:2] == ["-m", "bench"]:
            for word in arguments:
                self._make_file(word)
            check_words(arguments[2:], self.folder, python_m_bench, "python -m bench")

    def _curl(self, arguments: list[str]) -> None:
        if any("example.org" in word for word in arguments):
            return
        here = [word.replace(SERVER, self.server) for word in arguments]
        done = subprocess.run(
            ["curl", "--silent", "--show-error", "--fail-with-body", "--max-time", "60", *here],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"curl {arguments}: {done.stderr}{done.stdout}"

    def _pytest(self, arguments: list[str]) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def check_words(
    arguments: list[str], folder: Path, command: click.Command = reame, name: str = "reame"
) -> None:
    """That there is such a command with such options and arguments; nothing is run."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        _parse(command, name, arguments, None)
    except click.exceptions.Exit:  # --help and --version
        pass
    except click.ClickException as error:
        raise AssertionError(f"{name} {' '.join(arguments)}: {error.format_message()}") from None
    finally:
        os.chdir(before)


def _parse(command: click.Command, name: str, arguments: list[str], parent: click.Context | None) -> None:
    with command.make_context(name, list(arguments), parent=parent) as context:
        if isinstance(command, click.Group):
            child, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
            assert found is not None
            _parse(found, str(child), rest, context)
        elif command is reame.get_command(context, "bench"):
            _check_bench(context.params)


def check_mention(code: str) -> None:
    """That what a sentence names is there: a command of ours and its options, without the arguments that it
    would need. Raises AssertionError."""
    words = code.removeprefix("uv run ").split()
    command: click.Command = reame if words[0] == "reame" else python_m_bench
    known = _options(command)
    rest = iter(words[1 if words[0] == "reame" else 3 :])
    for word in rest:
        if word.startswith("-"):
            option, _, value = word.partition("=")
            assert option in known, f"{code}: there is no {option}"
            if not value and isinstance(found := known[option], click.Option) and not found.is_flag:
                next(rest, None)
        elif isinstance(command, click.Group) and not word.isupper():
            child = command.get_command(click.Context(command), word)
            assert child is not None, f"{code}: there is no {word}"
            command, known = child, known | _options(child)


def _options(command: click.Command) -> dict[str, click.Parameter]:
    found = command.get_params(click.Context(command))
    if isinstance(command, RunCommand):
        found += [click.Option([each.option]) for each in offered(PluginManager())]
    return {option: each for each in found for option in (*each.opts, *each.secondary_opts)}


def _check_bench(wishes: dict[str, Any]) -> None:
    """Workloads and contestants that there are: the harness would say so only when it runs."""
    assert set(wishes["names"]) <= set(BY_NAME), wishes["names"]
    for server in wishes["servers"]:
        kind = "NAME=" if "=http://" in server else server.partition(":")[0]
        assert kind in FORMS, server


def check_pip(arguments: list[str]) -> None:
    """What is installed is a distribution of this project with extras that it has, a folder, or a known one."""
    assert arguments[0] in ("install", "uninstall"), arguments
    for word in arguments[1:]:
        if word.startswith(("-", ".")):
            continue
        wanted = Requirement(word)
        project = _projects().get(wanted.name)
        if project is not None:
            assert wanted.extras <= set(project.get("optional-dependencies", {})), word
        else:
            assert wanted.name in _OTHER_DISTRIBUTIONS, f"pip install {word}"


_OTHER_DISTRIBUTIONS = {"uv", "openai", "langchain-openai", "reame-again", "reame-stutter"}


def _projects() -> dict[str, dict[str, dict[str, list[str]]]]:
    files = [ROOT / "pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml")]
    found = (tomllib.loads(path.read_text("utf-8"))["project"] for path in files)
    return {project["name"]: project for project in found}


def check_python(arguments: list[str]) -> None:
    """That the module or the file is there."""
    if arguments[0] == "-m":
        assert importlib.util.find_spec(arguments[1]) is not None, arguments
    else:
        assert arguments[0].endswith(".py"), arguments
