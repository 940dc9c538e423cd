"""The log: readable or JSON, without prompts, keys and forged lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from reame_core.server.logs import set_up_logs
from tests.server.support import Running, running, settings_with


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("reame")
    handlers, level, our_level = root.handlers[:], root.level, ours.level
    configuration = structlog.get_config()
    yield
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    ours.setLevel(our_level)
    structlog.configure(**configuration)


def fail() -> None:
    api_key = "sk-secret"
    raise RuntimeError(f"about {len(api_key)}")


def say_something() -> None:
    log = structlog.get_logger("reame.http")
    log.info("request", path="/a\nb", status=200)
    log.debug("not shown")
    logging.getLogger("reame.engine").warning("from the engine: %s", "x\ny")
    try:
        fail()
    except RuntimeError:
        log.exception("failed")


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs(settings_with().values.server)
    say_something()
    lines = capsys.readouterr().err.splitlines()
    assert "request path=/a\\nb status=200" in lines[0]
    assert "from the engine: x\\ny" in lines[1]
    assert "failed" in lines[2]
    assert lines[3] == "Traceback (most recent call last):"
    assert lines[-1] == "RuntimeError: about 9"
    assert not any("sk-secret" in line for line in lines[2:] if "api_key =" not in line)


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs(settings_with(log_format="json").values.server)
    say_something()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["message"] for line in lines] == ["request", "from the engine: x\ny", "failed"]
    assert lines[0]["path"] == "/a\nb"
    assert lines[0]["level"] == "info"
    assert lines[2]["exception"].endswith("RuntimeError: about 9")


@pytest.mark.parametrize(("level", "count"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_levels(capsys: pytest.CaptureFixture[str], level: str, count: int) -> None:
    set_up_logs(settings_with(log_format="json", log_level=level).values.server)
    say_something()
    assert len(capsys.readouterr().err.splitlines()) == count


def test_one_line_for_each_request_and_no_text(shared: Running) -> None:
    with structlog.testing.capture_logs() as lines:
        answer = shared.chat("My private words", max_tokens=3, temperature=0, ignore_eos=True, secret_field="x")
        shared.chat("My private words", model="no-such")
        shared.wait_until_idle()
        shared.wait_until(lambda: sum(line["event"] == "request" for line in lines) == 2)
    done, refused = (line for line in lines if line["event"] == "request")
    assert done["request_id"] == answer.headers["x-request-id"]
    assert (done["status"], done["completion"], refused["status"]) == (200, 3, 404)
    assert done["prompt"] == answer.json()["usage"]["prompt_tokens"]
    assert done["ms"] > 0
    [ignored] = [line for line in lines if line["event"] == "unknown fields are ignored"]
    assert ignored["fields"] == ["secret_field"]
    assert "private" not in repr(lines)


def test_texts_only_when_asked() -> None:
    with running(settings=settings_with(log_prompts=True)) as server, structlog.testing.capture_logs() as lines:
        server.chat("My private words", max_tokens=1)
        server.wait_until(lambda: any(line["event"] == "request" for line in lines))
    assert "private" in repr(lines)


def test_quiet_routes_are_logged_at_level_debug(shared: Running) -> None:
    with structlog.testing.capture_logs() as lines:
        for path in ("/health", "/metrics", "/v1/models"):
            shared.http.get(path)
        shared.wait_until(lambda: len(lines) == 3)
    assert [line["log_level"] for line in lines] == ["debug", "debug", "info"]
