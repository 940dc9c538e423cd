from __future__ import annotations

import pytest

from reame_core.errors import NotEnoughMemory
from reame_core.host.memory import COMPUTE_BYTES, KVPlan, available_memory, byte_count, kv_plan, mlock_problem

GB, MB = 1_000_000_000, 1_000_000
SYSTEM = 8_000_000 * 1024


class TestAvailable:
    def test_of_the_system(self, machine) -> None:
        assert available_memory(machine()) == SYSTEM

    def test_within_a_limit_of_version_2(self, machine, version_2) -> None:
        files = version_2(
            "/app",
            **{
                "app/memory.max": str(2 * GB),
                "app/memory.current": str(GB),
                "app/memory.stat": "anon 5\ninactive_file 300",
            },
        )
        assert available_memory(machine(files)) == GB + 300

    def test_the_soft_limit_counts(self, machine, version_2) -> None:
        files = version_2(
            "/app", **{"app/memory.max": "max", "app/memory.high": str(GB), "app/memory.current": "0"}
        )
        assert available_memory(machine(files)) == GB

    def test_the_tightest_group_binds(self, machine, version_2) -> None:
        files = version_2(
            "/pod/app",
            **{
                "pod/app/memory.max": str(3 * GB),
                "pod/app/memory.current": "0",
                "pod/memory.max": str(2 * GB),
                "pod/memory.current": str(GB),
            },
        )
        assert available_memory(machine(files)) == GB

    def test_within_a_limit_of_version_1(self, machine, version_1) -> None:
        files = version_1(
            "/x",
            **{
                "memory/x/memory.limit_in_bytes": str(2 * GB),
                "memory/x/memory.usage_in_bytes": str(GB),
                "memory/x/memory.stat": "total_inactive_file 200\ninactive_file 9",
                "memory/memory.limit_in_bytes": "9223372036854771712",
                "memory/memory.usage_in_bytes": "1",
            },
        )
        assert available_memory(machine(files)) == GB + 200

    def test_over_the_limit_nothing_is_left(self, machine, version_2) -> None:
        files = version_2("/", **{"memory.max": "1000", "memory.current": "2000"})
        assert available_memory(machine(files)) == 0

    def test_a_limit_above_the_system(self, machine, version_2) -> None:
        files = version_2("/", **{"memory.max": str(1 << 50), "memory.current": "0"})
        assert available_memory(machine(files)) == SYSTEM

    def test_without_proc(self, tmp_path) -> None:
        assert available_memory(tmp_path) > 0


def plan(available: int, *, context_length: int = 4096, parallel: int = 4, **more: object) -> KVPlan:
    arguments = {"bytes_per_token": 28_000, "model_bytes": GB} | more
    return kv_plan(context_length=context_length, parallel=parallel, available=available, **arguments)


class TestPlan:
    def test_everything_fits(self) -> None:
        assert plan(2 * GB) == KVPlan(16_384, 16_384 * 28_000)

    def test_as_much_as_fits_beside_the_weights(self) -> None:
        got = plan(GB + COMPUTE_BYTES + 200 * MB)
        assert got.cells == 200 * MB // 28_000 // 256 * 256 == 6912
        assert got.warning.startswith("memory has room for 6912 of 16384 cells")

    def test_one_context_is_given_even_if_the_weights_then_do_not_fit(self) -> None:
        got = plan(GB)
        assert got.cells == 4096
        assert "the weights (1.0 GB) do not fit in memory" in got.warning

    def test_a_given_number_is_taken_or_refused(self) -> None:
        assert plan(2 * GB, wanted_cells=5000).cells == 5000
        assert plan(GB, wanted_cells=5000).cells == 5000
        with pytest.raises(NotEnoughMemory, match=r"^kv_cells 5000 needs 140 MB .*: kv_cells 1536 would fit$"):
            plan(200 * MB, wanted_cells=5000)

    def test_less_than_one_context_is_refused(self) -> None:
        with pytest.raises(NotEnoughMemory) as caught:
            plan(200 * MB)
        assert str(caught.value) == (
            "context_length 4096 needs 115 MB of KV memory, 50 MB is available "
            "(200 MB less 150 MB for computing): --context-length 1536 would fit"
        )

    def test_all_cells_can_be_demanded(self) -> None:
        with pytest.raises(NotEnoughMemory) as caught:
            plan(350 * MB, minimum_cells=16_384)
        assert str(caught.value) == (
            "context_length 4096 × parallel 4 needs 459 MB of KV memory, 200 MB is available "
            "(350 MB less 150 MB for computing): --context-length 1536 would fit"
        )

    def test_what_is_said_to_fit_does(self) -> None:
        for available in range(160 * MB, 600 * MB, 7 * MB):
            try:
                plan(available, minimum_cells=16_384)
            except NotEnoughMemory as refusal:
                if "--context-length" in str(refusal):
                    fitting = int(str(refusal).split("--context-length ")[1].split()[0])
                    plan(available, context_length=fitting, minimum_cells=fitting * 4)

    def test_nothing_fits(self) -> None:
        with pytest.raises(NotEnoughMemory, match="not even 256 tokens would fit, free memory or choose"):
            plan(150 * MB)

    def test_copied_weights_have_to_fit(self) -> None:
        with pytest.raises(NotEnoughMemory, match=r"less 1.0 GB of weights and 150 MB for computing"):
            plan(GB, weights_mapped=False)
        assert plan(2 * GB, weights_mapped=False) == plan(2 * GB)

    @pytest.mark.parametrize("per_token", [None, 0])
    def test_unknown_or_constant_memory(self, per_token: int | None) -> None:
        assert plan(0, bytes_per_token=per_token) == KVPlan(16_384, 0)


def test_locking() -> None:
    assert mlock_problem(GB, limit=2 * GB) is None
    assert mlock_problem(GB, limit=64_000) == (
        "the weights are not locked in memory (64 KB may be locked, 1.0 GB is needed), so under memory "
        "pressure answers become slow: raise the limit with `ulimit -l` or systemd's LimitMEMLOCK="
    )


def test_locking_here_is_answered() -> None:
    assert mlock_problem(0) is None


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 KB"), (458_000_000, "458 MB"), (12 * GB, "12 GB")],
)
def test_byte_counts(count: int, shown: str) -> None:
    assert byte_count(count) == shown
