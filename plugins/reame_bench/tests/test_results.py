from __future__ import annotations

from pathlib import Path

import pytest
from reame_bench.figures import Value, advantage, short, table, values
from reame_bench.published import _OPTIONS, comparison, published
from reame_bench.report import between_markers, workload_sections, write_page
from reame_bench.results import Results, Run, Unit
from reame_bench.targets import targets
from reame_bench.workloads.catalogue import BY_NAME

from reame_core.errors import UsageError

HOST = {"cpu": "an abacus"}


def unit(contestant: str, turn: int = 0, workload: str = "repeats", **figures: float) -> Unit:
    return Unit(
        workload=workload,
        model="m",
        contestant=contestant,
        round=turn,
        size="full",
        figures=figures,
        command="reame bench",
    )


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    first = Results(path, HOST)
    first.add(unit("reame", first=2.0, repeat=float("nan")))
    again = Results(path, HOST)
    assert again.done == {("repeats", "m", "reame", 0, "full")}
    assert again.run.units[0].figures == {"first": 2.0}, "what is no number is no figure"
    again.add(unit("reame", first=3.0))
    assert [each.figures["first"] for each in Results(path, HOST).run.units] == [3.0]
    assert not list(tmp_path.glob("*.part"))


def test_results_of_another_machine_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results(path, HOST).add(unit("reame"))
    with pytest.raises(UsageError, match="another processor"):
        Results(path, {"cpu": "a slide rule"})


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"host": {}, "units": [1]}', b'{"host": {}, "format": 99}']
)
def test_files_that_are_not_ours(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"results\.json"):
        Results(path, HOST)


def test_medians_spread_and_what_is_better() -> None:
    metric = BY_NAME["repeats"].metrics[0]
    units = [unit("a", turn, first=value) for turn, value in enumerate([3.0, 1.0, 2.0])] + [
        unit("b", repeat=1.0)
    ]
    found = values(units, metric)
    assert found == {"a": Value(2.0, 1.0, 3.0)}
    assert found["a"].cell() == "2.00 (1.00 to 3.00)"
    assert advantage(Value.of([4.0]), Value.of([2.0]), metric) == 2.0
    less = BY_NAME["prefix"].metrics[0]
    assert advantage(Value.of([4.0]), Value.of([2.0]), less) == 0.5


def test_tables_are_aligned_and_bars_do_no_harm() -> None:
    lines = table([("a", "b"), ("long | cell", "1")])
    assert len({len(line) for line in lines}) == 1
    assert "long \\| cell" in lines[2]
    assert [short(value) for value in (1234.5, 12.34, 1.234, 0.1234)] == ["1,234", "12.3", "1.23", "0.123"]


def test_sections_say_who_wins_and_who_was_disturbed() -> None:
    units = [
        unit("reame", first=10.0),
        unit("other", first=5.0, repeat=1.0),
        unit("reame without plugins", first=20.0),
    ]
    units[1].others_cpu = 0.3
    text = workload_sections(Run(HOST, units), "full")
    assert "2.00 × better" in text
    assert "other, round 1: others used 30% of the machine" in text
    worse = workload_sections(Run(HOST, [unit("reame", first=1.0), unit("other", first=5.0)]))
    assert "0.200 × (worse)" in worse
    assert workload_sections(Run(HOST, units), "quick") == ""


def test_only_what_is_between_the_markers_is_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- begin workloads -->\nold\n<!-- end workloads -->\nbelow\n")
    write_page(page, Run(HOST, [unit("reame", first=10.0)]))
    content = page.read_text()
    assert content.startswith("above\n<!-- begin workloads -->\n\nMeasured on an abacus.\n\n#### Repeated")
    assert content.endswith("<!-- end workloads -->\nbelow\n")
    assert "old" not in content
    again = page.read_text()
    write_page(page, Run(HOST, [unit("reame", first=10.0)]))
    assert page.read_text() == again


@pytest.mark.parametrize(
    "text", ["", "<!-- end a -->\n<!-- begin a -->", "<!-- begin a -->" * 2 + "<!-- end a -->"]
)
def test_pages_without_a_place(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(UsageError):
        between_markers(page, "a", "x")
    with pytest.raises(UsageError):
        write_page(page, Run(HOST))
    assert page.read_text() == text


def test_every_published_figure_is_shown_or_says_why_not() -> None:
    rows = published()
    assert len(rows) == 35
    for row in rows:
        if row.shown:
            keys = {metric.key for metric in BY_NAME[row.workload].metrics}
            assert set(row.keys) <= keys
            assert row.gain or row.figure
            assert set(row.between) <= set(_OPTIONS)
        else:
            assert row.why_not


def test_targets_are_met_or_not_by_the_longest_curve() -> None:
    def curve(contestant: str, length: int, last: float) -> Unit:
        made = unit(contestant, 0, "triage", last=last, share=last / 10, again_share=0.2)
        made.size = f"full, {length} requests"
        made.curves = {"seconds": [last] * length}
        return made

    units = [
        curve("reame", 20, 9.0),
        curve("reame", 300, 1.0),
        curve("other", 20, 4.0),
        curve("another", 20, 2.5),
    ]
    units.append(curve("reame without plugins", 20, 0.1))
    text = targets(Run(HOST, units))
    lines = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:5]]
        for line in text.splitlines()
    }
    assert lines["triage: mean of the last ten requests / request 1"] == ["≤ 0.200", "0.100", "yes"]
    assert lines["the same mean / that of the best other server"] == ["≤ 0.600", "0.400", "yes"]
    assert lines["triage, second pass: mean / request 1"] == ["≤ 0.100", "0.200", "NO"]
    for kind in ("new", "known"):
        line = lines[f"all at once, {kind} invoices: answers a minute / the best other server's"]
        assert line == ["≥ 2.50", "not measured", ""]
    assert targets(Run(HOST)) == ""


def test_ours_beside_the_original() -> None:
    text = comparison(Run(HOST, [unit("reame", first=10.0, repeat=46.0)]))
    [line] = [line for line in text.splitlines() if "Palimpsest" in line]
    assert "10.0 → 46.0 tokens/s" in line
    assert "4.60 ×" in line
    assert "2.00 ×" in line
    [decoding] = [line for line in text.splitlines() if "Decoding: Qwen2.5-1.5B" in line]
    assert "not measured (`users`)" in decoding
    assert "`reame bench m --full --rounds 1 --only kept --store redis://127.0.0.1 --json results.json`" in text
    fresh = "--only fresh --server reame --server reame: --json"
    assert fresh in text
    assert "--only repeats" not in text, "it is measured"


def test_a_speed_stands_beside_the_original_without_a_gain() -> None:
    text = comparison(Run(HOST, [unit("reame", 0, "users", users_1=12.0)]))
    [line] = [line for line in text.splitlines() if "Decoding: Qwen2.5-1.5B" in line]
    assert [cell.strip() for cell in line.split("|")[3:7]] == ["M3", "12.0 tokens/s", "", ""]


def test_models_without_any_of_the_figures_get_no_table() -> None:
    triage = unit("reame", 0, "triage", last=1.0)
    triage.model = "other"
    text = comparison(Run(HOST, [triage, unit("reame", first=10.0, repeat=46.0)]))
    assert "ours, m " in text
    assert "ours, other" not in text
    assert "ours, qwen2.5-coder-1.5b" in comparison(Run(HOST))


def test_figures_of_another_machine_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- begin workloads -->\n<!-- end workloads -->\n")
    write_page(page, Run({"cpu": "a slide rule", "flags": "amx_int8"}, [unit("reame", first=10.0)]))
    before = page.read_text()
    assert "Measured on a slide rule, with AMX." in before
    with pytest.raises(UsageError, match="another machine, a slide rule, with AMX: move them out"):
        write_page(page, Run(HOST, [unit("reame", first=11.0)]))
    assert page.read_text() == before
