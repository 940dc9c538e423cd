"""GET / and /status: the page for people and its figures."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from reame_core.engine.events import Finished, Timings, Usage
from reame_core.server.history import History, Throughput
from reame_core.testing import FakeBackend
from tests.server.support import FakeModel, Running, running, settings_with

KEY = {"Authorization": "Bearer sk-secret"}


class Clock:
    """Seconds, as the test wants them."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def status(server: Running) -> dict[str, Any]:
    response = server.http.get("/status")
    assert response.status_code == 200
    answer: dict[str, Any] = response.json()
    return answer


def test_the_figures_are_those_of_the_answers() -> None:
    with running(FakeModel(FakeBackend(cells=2048))) as server:
        before = status(server)
        assert before["work"][-1]["computed"] == 0
        usages = [server.chat("the same", max_tokens=5, ignore_eos=True).json() for _ in range(3)]
        after = status(server)
        reports = [answer["reame"]["prompt_tokens"] for answer in usages]
        now = after["work"][-1]
        assert now["computed"] == sum(report["computed"] for report in reports)
        assert now["reused"] == {"ram": sum(report.get("ram", 0) for report in reports)}
        assert now["generated"] == 15
        assert now["seconds_avoided"] > 0
        assert after["tokens_per_second"] > 0
        assert after["model"]["name"] == "fake"
        assert after["model"]["description"] == {"threads": "1"}
        assert after["model"]["plugins"] == [{"name": "core", "state": "active"}]
        assert after["model"]["kv_cells"]["total"] == 2048
        assert 0 < after["model"]["kv_cells"]["used"] < 2048
        assert (after["model"]["running"], after["model"]["waiting"]) == (0, 0)
        assert len(after["work"]) >= 3
        for name in ("at", "computed", "generated", "seconds_avoided"):
            values = [point[name] for point in after["work"]]
            assert values == sorted(values)


def test_while_the_model_is_loaded() -> None:
    with running(loaded=False) as server:
        answer = status(server)
        assert (answer["status"], answer["model"]) == ("starting", None)
        assert server.http.get("/").status_code == 200


def test_the_page_needs_nothing_from_elsewhere(shared: Running) -> None:
    page = shared.http.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page.text)
    assert not re.search(r"\b(src|srcset)=|@import|url\(", page.text)
    assert re.findall(r'href="([^"]*)"', page.text) == ["data:,"]
    assert 'style="' not in page.text
    assert not re.search(r"\son\w+=", page.text)


def test_only_the_pages_own_script_may_run(shared: Running) -> None:
    page = shared.http.get("/")
    policy = dict(
        directive.strip().split(" ", 1) for directive in page.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    for kind in ("style", "script"):
        (content,) = re.findall(f"<{kind}>(.*?)</{kind}>", page.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert policy[f"{kind}-src"] == f"'sha256-{digest}'"
    assert page.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/status"])
def test_case_100_head(shared: Running, path: str) -> None:
    head = shared.http.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == shared.http.get(path).headers["content-type"]


def test_with_keys_the_page_is_open_and_tells_nothing(shared: Running) -> None:
    with running(settings=settings_with(api_key=["sk-secret"], aliases=["an-alias"])) as locked:
        page = locked.http.get("/")
        assert page.status_code == 200
        assert page.content == shared.http.get("/").content  # the same bytes, whatever the server
        refused = locked.http.get("/status")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "fake" not in refused.text
        assert locked.http.head("/status").status_code == 401
        assert locked.http.get("/status", headers=KEY).json()["model"]["name"] == "fake"


def test_open_metrics_open_the_figures_too() -> None:
    with running(settings=settings_with(api_key=["sk-secret"], metrics="open")) as server:
        assert status(server)["model"]["name"] == "fake"


def test_without_metrics_there_is_no_page() -> None:
    with running(settings=settings_with(metrics="off")) as server:
        for path in ("/", "/status"):
            response = server.http.get(path)
            assert response.status_code == 404
            assert "server.metrics" in response.json()["error"]["message"]


def test_a_long_life_is_a_bounded_history() -> None:
    clock = Clock()
    history = History(clock)
    for _ in range(5000):
        clock.now += 7.3
        history.totals.computed += 10
        history.changed()
    points = history.points()
    assert 50 <= len(points) <= 122
    times = [at for at, _ in points]
    assert times == sorted(times)
    assert points[-1][1].computed == 50_000
    assert points[0] == (0.0, History(clock).totals)
    for at, totals in points:
        assert abs(totals.computed - 10 * at / 7.3) < 50_000 / 50


def test_a_pause_is_level() -> None:
    clock = Clock()
    history = History(clock)
    for clock.now in (1, 2, 1000):
        history.totals.computed += 10
        history.changed()
    assert [(at, totals.computed) for at, totals in history.points()] == [
        (0, 0), (1, 10), (2, 20), (999, 20), (1000, 30), (1000, 30),
    ]  # fmt: skip


def test_throughput_is_that_of_late() -> None:
    clock = Clock()
    throughput = Throughput(clock)
    assert throughput.rate() == 0
    for _ in range(100):
        clock.now += 0.1
        throughput.delivered(2)
    assert throughput.rate() == pytest.approx(20, rel=0.1)
    clock.now += 60
    assert throughput.rate() == 0


def a_busy_hour(server: Running) -> None:
    """What the server would have counted in an hour of work."""
    metrics, clock = server.state.metrics, Clock()
    metrics.history = History(clock)
    for number in range(240):
        clock.now += 15
        prompt = 600 + 37 * (number % 11)
        ram = 0 if number < 20 else prompt * 5 // 8
        disk = prompt // 5 if 60 < number < 200 else 0
        event = Finished(
            0,
            "stop",
            usage=Usage(
                prompt=prompt,
                computed=prompt - ram - disk,
                completion=80,
                reused={"ram": ram, "diskkv": disk},
                drafts={"palimpsest": (40, 30 if number > 90 else 12), "prompt-lookup": (25, 6)},
            ),
            timings=Timings(1, 100, 500),
        )
        metrics.ended(event)
        metrics.prompt(event, 0.008)
    metrics.throughput.delivered(38)


def rows_of_png(file: Path) -> tuple[int, int, set[bytes]]:
    """Width, height, and the different rows of pixels, filtered as they are."""
    data = file.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    place, packed = 8, b""
    while place < len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        if data[place + 4 : place + 8] == b"IDAT":
            packed += data[place + 8 : place + 8 + length]
        place += length + 12
    pixels = zlib.decompress(packed)
    step = len(pixels) // height
    return width, height, {pixels[start + 1 : start + step] for start in range(0, len(pixels), step)}


@pytest.mark.skipif(shutil.which("chromium") is None, reason="the command chromium is not installed")
@pytest.mark.parametrize("size", [(1000, 1150), (500, 1400)])
def test_in_a_browser(tmp_path: Path, size: tuple[int, int]) -> None:
    picture = tmp_path / "page.png"
    with running(FakeModel(FakeBackend(cells=4096))) as server:
        server.chat("Hello", max_tokens=20)
        server.on_loop(lambda: a_busy_hour(server))
        server.model.description = {
            "model": "llama 256M Q4_1",
            "threads": "2 (2 physical cores, one thread each)",
            "context": "4096 tokens, 4 at once, 16384 KV cells",
        }
        command = [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars",
            f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={size[0]},{size[1]}",
            "--virtual-time-budget=3000", "--dump-dom", f"--screenshot={picture}", f"{server.url}/",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        asked = server.metric("reame_http_responses_total", route="/status", status="200")
    assert picture.exists(), done.stderr[-2000:]
    assert asked >= 1
    width, height, rows = rows_of_png(picture)
    assert (width, height) == size
    assert len(rows) > 100
    assert "Refused to" not in done.stderr  # what the browser says about a violated policy
