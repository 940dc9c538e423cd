"""GET /metrics."""

from __future__ import annotations

import math

import pytest
from prometheus_client.parser import text_string_to_metric_families

from reame_core.testing import FakeBackend
from tests.server.support import FakeModel, Running, running


def samples(server: Running) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    response = server.http.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    found = {}
    for family in text_string_to_metric_families(response.text):
        assert ":" not in family.name
        for sample in family.samples:
            assert not math.isnan(sample.value)
            if family.type == "counter" and not sample.name.endswith("_created"):
                assert sample.name.endswith("_total")
            found[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return found


def counters(found: dict[tuple[str, tuple[tuple[str, str], ...]], float]) -> set[object]:
    return {key for key in found if key[0].endswith(("_total", "_count", "_sum", "_bucket"))}


def test_case_133_metrics_parse_from_the_first_moment_and_only_grow() -> None:
    with running(loaded=False) as server:
        before = samples(server)
        server.on_loop(lambda: server.state.model_loaded(server.model))
        fresh = samples(server)
        for number in range(10):
            server.chat(f"number {number}", max_tokens=3)
        after = samples(server)
    assert counters(before) <= counters(fresh) <= counters(after)
    for earlier, later in ((before, fresh), (fresh, after)):
        assert all(later[key] >= earlier[key] for key in counters(earlier))
    assert not any("number" in value for key in after for _, value in key[1])


def test_the_figures_are_those_of_the_answers() -> None:
    with running(FakeModel(FakeBackend(cells=2048))) as server:
        options = {"ignore_eos": True, "seed": 1}
        usages = [server.chat("the same", max_tokens=5, n=n, **options).json() for n in (1, 1, 3)]
        usages.append(server.complete("x", max_tokens=1, **options).json())
        found = samples(server)
        prompt = sum(usage["usage"]["prompt_tokens"] for usage in usages)
        cached = sum(usage["usage"]["prompt_tokens_details"]["cached_tokens"] for usage in usages)
        assert found["reame_prompt_tokens_total", ()] == prompt
        assert found["reame_prompt_tokens_by_source_total", (("source", "ram"),)] == cached
        assert found["reame_generation_tokens_total", ()] == 26
        assert found["reame_answers_total", (("finish_reason", "length"),)] == 6
        assert found["reame_time_to_first_token_seconds_count", ()] == 6
        assert found["reame_inter_token_latency_seconds_count", ()] == 20
        assert found["reame_work_avoided_seconds_total", ()] > 0
        assert found["reame_kv_cells", ()] == 2048
        assert 0 < found["reame_kv_cells_used", ()] < 2048
        assert found["reame_batch_rows_sum", ()] == server.backend.rows_computed
        assert found["reame_batch_rows_count", ()] == server.backend.decodes
        assert found["reame_model_info", (("model", "fake"),)] == 1


def test_responses_are_counted_by_route_not_by_path() -> None:
    with running() as server:
        for path in ("/v1/models", "/v1/models/fake", "/secret-in-a-path", "/v1/models/secret"):
            server.http.get(path)
        found = samples(server)
    name = "reame_http_responses_total"
    assert found[name, (("route", "/v1/models"), ("status", "200"))] == 1
    assert found[name, (("route", "/v1/models/{name}"), ("status", "404"))] == 1
    assert found[name, (("route", "other"), ("status", "404"))] == 1
    assert not any("secret" in value for key in found for _, value in key[1])


@pytest.mark.parametrize("n", [1, 2])
def test_two_servers_do_not_mix(n: int) -> None:
    with running() as server:
        for _ in range(n):
            server.chat(max_tokens=1, ignore_eos=True)
        assert samples(server)["reame_answers_total", (("finish_reason", "length"),)] == n
