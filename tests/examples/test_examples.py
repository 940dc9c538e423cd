"""The example plugins keep the laws, and do what they say."""

from __future__ import annotations

import importlib.util
import sqlite3
from pathlib import Path
from types import ModuleType

import pytest

from reame_core.engine.request import Request
from reame_core.errors import ConfigError
from reame_core.models.catalogue import read_entry
from reame_core.plugins.api import Candidate, CandidateState, Group
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection
from reame_core.testing import FakeBackend, plain_answers, plugged, prompt_of, run
from reame_core.testing.contracts import check_drafter, check_judge

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_LINES = 100
ENDLESS = "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_each_is_short_listed_and_can_be_loaded(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES
    assert f"`{path.name}`" in (EXAMPLES / "README.md").read_text()


def test_all_of_them_are_found_in_their_folder() -> None:
    manager = PluginManager(PluginSelection(folder=EXAMPLES), entry_points=[])
    states = {report.name: report.state for report in manager.report()}
    assert states == {path.stem: "active" for path in EXAMPLES.glob("*.py")}


def test_the_code_drafter_keeps_the_laws() -> None:
    check_drafter(load("code_drafter").CodeDrafter, examples=20)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("customer_name = 1\nprint(cust", "omer_name"),
        ("alpha_one alpha_two al", "pha_two"),
        ("customer = 1\ncustomer", ""),
        ("a = 1\na", ""),
        ("", ""),
    ],
)
def test_names_that_were_begun(text: str, rest: str) -> None:
    assert load("code_drafter").rest_of_name(text) == rest


@pytest.mark.parametrize(
    ("text", "spaces"),
    [
        ("def f():\n", "    "),
        ("def f():\n    a = 1\n", "    "),
        ("\tif (\n", "\t\t"),
        ("a = 1\n", ""),
        ("\n\n", ""),
    ],
)
def test_indentation_of_the_next_line(text: str, spaces: str) -> None:
    assert load("code_drafter").indentation(text) == spaces


def test_a_name_of_the_prompt_is_drafted_and_right() -> None:
    name = "customer_identifier"
    backend = {"replies": {"which?": f"it is {name}"}}
    request = Request(prompt=prompt_of(f"{name} which?"), max_tokens=60)
    with plugged(load("code_drafter").CodeDrafter(), FakeBackend(**backend)) as running:
        answer = run(running.engine, request)[0]
    assert answer.said == plain_answers(request, **backend)
    assert answer[0].usage.accepted > 8


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("create table item (name text, price int)")
        database.executemany("insert into item values (?, ?)", [("pen", 2), ("ink", 5)])
    database.close()
    return path


def test_the_sql_judge_keeps_the_laws(shop: Path) -> None:
    check_judge(load("sql_judge").SqlJudge, options={"database": str(shop)}, examples=30)


@pytest.mark.parametrize(
    ("texts", "winner"),
    [
        (("select nonsense", "```sql\nselect max(price) from item;\n```", "select 5"), 1),
        (("select 1", "select name from item", "select name from item order by price"), 0),
        (("drop table item", "select 2", "no idea"), 1),
        (("attach database ':memory:' as other", "pragma user_version", "select 2"), 2),
        (
            (
                "with recursive r(x) as (select 1 union all select x+1 from r) select count(*) from r",
                "select 3",
            ),
            1,
        ),
        (("select 4", None, None), None),
        (("select 4", "select 4", None), 0),
        (("nothing", "works"), None),
    ],
)
def test_what_runs_and_agrees_wins(shop: Path, texts: tuple[str | None, ...], winner: int | None) -> None:
    candidates = tuple(
        Candidate(n, CandidateState.RUNNING if text is None else CandidateState.ENDED, text or "", 1, -1.0)
        for n, text in enumerate(texts)
    )
    judge = load("sql_judge").SqlJudge()
    with plugged(judge, options={"database": str(shop)}):
        assert judge.select_winner(Group(Request(prompt=(1,), n=len(texts), select=True), candidates)) == winner
    with sqlite3.connect(shop) as database:
        assert database.execute("select count(*) from item").fetchone() == (2,)
    database.close()


def test_the_sql_judge_without_a_database() -> None:
    with (
        pytest.raises(ConfigError, match=r"plugins\.sql_judge\.database"),
        plugged(load("sql_judge").SqlJudge()),
    ):
        pass


def test_models_of_a_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tmp_path / "list"
    listed.write_text(f"# ours\nours-1b  ours.gguf  {'a' * 64}  8192\n\nbroken line\n")
    monkeypatch.setenv("REAME_MIRROR_LIST", str(listed))
    monkeypatch.setenv("REAME_MIRROR", "https://mirror.example.org/")
    models = load("company_mirror").CompanyMirror().register_models()
    assert list(models) == ["ours-1b"]
    entry = read_entry("ours-1b", models["ours-1b"], "company_mirror")
    assert entry.name == "ours-1b"
    assert models["ours-1b"]["source"] == "https://mirror.example.org/ours.gguf"
    listed.unlink()
    assert load("company_mirror").CompanyMirror().register_models() == {}
