"""What is measured gets into the pages, and nothing else there is touched."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner
from reame_bench.results import Results, Unit

from bench.cli import main
from bench.report import Figure, Result, Target
from bench.suite import write_report

HOST = {"cpu": "an abacus", "flags": "avx", "cores": "2 cores, 2 threads"}
ON = "Measured on an abacus, 2 cores, without AMX."
PAGE = """# Page
<!-- begin speculation -->
old
<!-- end speculation -->
between
<!-- begin published -->
<!-- end published -->
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def report(path: Path, *results: Result, host: dict[str, str] = HOST) -> Path:
    write_report(path, "speculation", host, f"python -m bench {path.stem}", results)
    return path


def result(measurement: str, value: float) -> Result:
    figures = [Figure("with / without drafts", value, low=1.0, high=9.0, target=Target("≥", 2.0))]
    return Result(measurement, "m", "What it compares.", figures, ["a note"])


def publish(page: Path, *files: Path) -> str:
    done = CliRunner().invoke(main, ["publish", "--page", str(page), *map(str, files)])
    assert done.exit_code == 0, done.output
    return done.output


def test_reports_of_both_harnesses_find_their_places(page: Path, tmp_path: Path) -> None:
    first = report(tmp_path / "first.json", result("repeat", 3.0), result("edited", 1.0))
    second = report(tmp_path / "second.json", result("repeat", 4.0))
    run = tmp_path / "run.json"
    unit = Unit(workload="repeats", model="m", contestant="reame", round=0, size="full")
    unit.figures = {"first": 10.0, "repeat": 46.0}
    Results(run, HOST).add(unit)
    assert publish(page, first, second, run).endswith("page.md: speculation, published\n")
    text = page.read_text()
    assert "old" not in text
    assert text.count(ON) == 2
    assert text.count("#### repeat: m") == 1
    assert "| 4.00 ×" in text, "the last file counts"
    assert "3.00 ×" not in text
    assert "- `python -m bench second`" in text
    assert "#### edited: m" in text
    assert "10.0 → 46.0 tokens/s" in text
    assert "\nbetween\n" in text
    publish(page, first, second, run)
    assert page.read_text() == text


def test_figures_of_another_machine_are_not_written_over(page: Path, tmp_path: Path) -> None:
    publish(page, report(tmp_path / "first.json", result("repeat", 3.0)))
    before = page.read_text()
    other = report(tmp_path / "other.json", result("repeat", 5.0), host={"cpu": "a slide rule"})
    done = CliRunner().invoke(main, ["publish", "--page", str(page), str(other)])
    assert done.exit_code == 1
    assert "enclose figures of another machine, an abacus, 2 cores, without AMX" in done.output
    assert page.read_text() == before


def test_files_of_two_machines_are_refused(page: Path, tmp_path: Path) -> None:
    files = [
        report(tmp_path / "a.json", result("repeat", 3.0)),
        report(tmp_path / "b.json", result("repeat", 3.0), host={"cpu": "a slide rule"}),
    ]
    done = CliRunner().invoke(main, ["publish", "--page", str(page), *map(str, files)])
    assert done.exit_code == 1
    assert "publish them apart" in done.output
    assert page.read_text() == PAGE


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{}", '{"host": 3}', '{"host": {}, "units": [1]}'),
        '{"host": {}, "suite": "core", "command": "c", "results": [1]}',
    ],
)
def test_other_files_are_one_line(page: Path, tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    done = CliRunner().invoke(main, ["publish", "--page", str(page), str(path)])
    assert done.exit_code == 1
    assert "other.json" in done.output
    assert done.output.count("\n") == 1


def test_a_page_without_places_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing")
    file = report(tmp_path / "a.json", result("x", 1.0))
    done = CliRunner().invoke(main, ["publish", "--page", str(page), str(file)])
    assert done.exit_code == 1
    assert "has no place for any of this" in done.output


def test_reports_keep_everything(tmp_path: Path) -> None:
    made = result("repeat", 3.0)
    written = json.loads(report(tmp_path / "a.json", made).read_text())
    assert written["results"] == [asdict(made)]
