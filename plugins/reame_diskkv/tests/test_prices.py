"""Restoring has to be cheaper than computing."""

from __future__ import annotations

from pathlib import Path

from reame_diskkv.prices import LEAST_COMPUTED, Prices

from plugins.reame_diskkv.tests.driver import branch, plain, request, server, words

LONG = words(100)


def test_reading_pays_until_it_is_known_not_to() -> None:
    prices = Prices()
    assert prices.pays(1, 10**9)
    prices.computed(100, 1000.0)
    assert prices.pays(1, 10**9)
    prices.read(1000, 100.0)
    assert prices.pays(10, 900)
    assert not prices.pays(10, 1100)


def test_company_does_not_make_computing_look_dear() -> None:
    prices = Prices()
    prices.computed(100, 1000.0)
    for _ in range(3):
        prices.computed(100, 5000.0)
    assert prices.compute_ms is not None
    assert prices.compute_ms < 11
    for _ in range(200):
        prices.computed(100, 5000.0)
    assert prices.compute_ms == 50.0


def test_a_few_tokens_say_nothing() -> None:
    prices = Prices()
    prices.computed(LEAST_COMPUTED - 1, 1e6)
    prices.computed(100, 0.0)
    assert prices.compute_ms is None
    prices.read(0, 5.0)
    assert prices.read_ms is None


def test_a_disk_slower_than_the_model_is_left_alone_and_tried_now_and_then(tmp_path: Path) -> None:
    with server(tmp_path, measured_prices=True) as each:
        each.ask(LONG)
        prices = each.service.cache.prices
        restored = []
        for salt in range(40):
            prices.compute_ms, prices.read_ms = 0.001, 1.0
            each.forget()
            asked = request(branch(LONG, 90, 100, salt))
            answer = each.ask(asked.prompt)
            assert answer.said == plain(asked)[0]
            restored.append(answer.restored)
        assert 1 <= sum(count > 0 for count in restored) <= 3
        assert each.counts.unprofitable >= 37
        prices.compute_ms, prices.read_ms = 1000.0, 0.001
        each.forget()
        assert each.ask(LONG).restored > 0


def test_what_would_never_be_read_is_not_written(tmp_path: Path) -> None:
    with server(tmp_path, measured_prices=True) as each:
        each.service.cache.prices.compute_ms, each.service.cache.prices.read_ms = 0.001, 1.0
        each.ask(LONG)
        assert each.counts.exported_blocks == 0


def test_the_last_block_is_read_only_for_enough_tokens(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        first.ask(LONG)
    with server(tmp_path, measured_prices=True) as second:
        prices = second.service.cache.prices
        # A block of 16 tokens is some 400 bytes: worth reading for 5 tokens, not for 2.
        prices.compute_ms, prices.read_ms = 1.0, 0.01
        assert second.ask(branch(LONG, 50, 100)).restored == 48
        second.forget()
        prices.compute_ms, prices.read_ms = 1.0, 0.01
        assert second.ask(branch(LONG, 54, 100, salt=2)).restored == 54


def test_computing_is_priced_by_what_was_computed(tmp_path: Path) -> None:
    now = 0.0

    def clock() -> float:
        return now

    with server(tmp_path, measured_prices=True) as each:
        each.service._clock = clock
        each.submit(request(LONG, 1))
        while not each.engine.idle:
            now += 0.5
            each.engine.step()
        # Two steps of at most 64 rows; the plugin is asked at the beginning of the first.
        assert each.service.cache.prices.compute_ms == 5.0
