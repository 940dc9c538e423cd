"""docs/models.md says what is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from reame_core.cli.app import reame
from reame_core.errors import ModelError
from reame_core.models.catalogue import Facts, read_entry
from reame_core.models.download.web import TryAgain, Web
from reame_core.models.sources import parse_source

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")


def test_the_example_is_a_catalogue() -> None:
    [text] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    entries = {name: read_entry(name, table, "page", Path("/x")) for name, table in tomllib.loads(text).items()}
    assert entries["draft"].source.reference == "/x/weights/draft.gguf"
    assert entries["house-0.5b"].facts.kv_heads == 2


def test_every_field_is_described() -> None:
    part = PAGE.split("\n## A catalogue of your own\n")[1].split("\n## ")[0]
    rows = "".join(re.findall(r"^\| (`[^|]+) \|", part, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", rows)) == set(Facts.__struct_fields__)


def test_the_commands_of_the_page_exist() -> None:
    commands = set(re.findall(r"reame ([a-z]+)", PAGE))
    assert {"list", "run", "pull", "show", "rm", "ps", "stats"} <= commands <= set(reame.commands)


@pytest.mark.parametrize(
    "form", ["hf:ORG/REPO", "hf:ORG/REPO:FILE", "hf:ORG/REPO:Q8_0", "hf:ORG/REPO@REVISION:FILE"]
)
def test_the_forms_of_the_page_are_sources(form: str) -> None:
    assert f"`{form}`" in PAGE
    assert parse_source(form).reference == form


def test_the_pauses_of_the_page_are_right() -> None:
    pauses: list[float] = []

    def fail() -> None:
        raise TryAgain("trouble")

    with pytest.raises(ModelError, match="6 times in a row"):
        Web(sleep=pauses.append).retrying(fail, "x")
    assert pauses == [1, 2, 4, 8, 16]
    assert "after 1, 2, 4, 8 and 16 seconds" in PAGE
