"""The contract of all drafters, which the core's own tools for plugins check."""

from __future__ import annotations

import pytest
from reame_palimpsest.archive_plugin import ArchivePlugin
from reame_palimpsest.lookup_plugin import LookupPlugin

from reame_core.testing.contracts import check_drafter


@pytest.mark.parametrize("least", [2, 4])
def test_prompt_lookup_keeps_the_contract_of_drafters(least: int) -> None:
    check_drafter(LookupPlugin, name="prompt-lookup", options={"min_match": least})


def test_the_archive_keeps_the_contract_of_drafters() -> None:
    check_drafter(ArchivePlugin, name="palimpsest", folder_option="folder")


def test_answers_kept_out_of_the_archive_keep_it_too() -> None:
    fields = {"reame.palimpsest": {"archive": False}}
    check_drafter(ArchivePlugin, name="palimpsest", folder_option="folder", fields=fields, examples=10)
