from pathlib import Path

from reame_old_cache.plugin import OldCache

from reame_core.engine.request import Request
from reame_core.testing import plugged, prompt_of, run
from reame_core.testing.contracts import check_cache


def test_it_keeps_the_laws_of_caches() -> None:
    check_cache(OldCache)


def test_a_prompt_is_restored_after_a_restart(tmp_path: Path) -> None:
    request = Request(prompt=prompt_of("a prompt that comes twice"), max_tokens=5)
    restored = []
    for _ in range(2):
        with plugged(OldCache(), options={"folder": str(tmp_path)}) as running:
            restored.append(run(running.engine, request)[0][0].usage.reused)
    assert restored == [{}, {"checked": len(request.prompt) - 1}]
