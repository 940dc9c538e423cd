"""The contract of all caches, which the core's own tools for plugins check."""

from __future__ import annotations

from reame_diskkv.plugin import DiskKV

from plugins.reame_diskkv.tests.driver import BLOCK
from reame_core.testing.contracts.cache import check_cache


def test_the_contract_of_caches() -> None:
    check_cache(DiskKV, options={"block_tokens": BLOCK, "min_tokens": 4})
