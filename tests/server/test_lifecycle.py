"""A server process from its start to its end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.support import PATIENCE, chat_body, running

CHAT = "/v1/chat/completions"
PROGRAM = Path(__file__).with_name("serve_fake.py")


class Process:
    """A server in a process of its own, and what it has said."""

    def __init__(self, mode: str, options: tuple[str, ...], environment: dict[str, str]) -> None:
        self.child = subprocess.Popen(
            [sys.executable, str(PROGRAM), mode, *options],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )
        self.said: list[str] = []
        self._news = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.child.stderr is not None
        for line in self.child.stderr:
            with self._news:
                self.said.append(line)
                self._news.notify_all()
        with self._news:
            self.said.append("END")
            self._news.notify_all()

    def wait_for(self, pattern: str) -> str:
        with self._news:
            found: list[str] = []

            def look() -> bool:
                found[:] = [line for line in self.said if re.search(pattern, line)]
                return bool(found) or "END" in self.said

            assert self._news.wait_for(look, PATIENCE), self.said
            assert found, self.said
            return found[0]

    @property
    def url(self) -> str:
        found = re.search(r"http://[^\s,]+", self.wait_for("listening on"))
        assert found
        return found[0]

    def send(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.child.send_signal(number)

    def end(self) -> int:
        code = self.child.wait(PATIENCE)
        self.wait_for("END")
        return code


@contextmanager
def process(*options: str, mode: str = "works", **environment: str) -> Iterator[Process]:
    server = Process(mode, options, environment)
    try:
        yield server
    finally:
        server.child.kill()
        server.child.wait()
        assert server.child.stderr is not None
        server.wait_for("END")
        server.child.stderr.close()


@contextmanager
def streaming(server: Process, **fields: Any) -> Iterator[Iterator[str]]:
    """A stream of which the first event has come."""
    body = chat_body(stream=True, ignore_eos=True, **fields)
    with httpx.stream("POST", server.url + CHAT, json=body, timeout=PATIENCE) as response:
        lines = (line for line in response.iter_lines() if line)
        assert next(lines).startswith("data: ")
        yield lines


def test_case_130_running_requests_finish_and_new_ones_are_refused(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    with process("grace_s=60", GO_ON=str(go_on)) as server:
        server.wait_for("is ready")
        with streaming(server, max_tokens=80) as lines:
            server.send()
            server.wait_for("finishing 1 running")
            refused = httpx.post(server.url + CHAT, json=chat_body(), timeout=PATIENCE)
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "shutting_down"
            health = httpx.get(server.url + "/health", timeout=PATIENCE)
            assert (health.status_code, health.json()["status"]) == (503, "draining")
            go_on.touch()
            rest = list(lines)
        assert rest[-1] == "data: [DONE]"
        assert server.end() == 0
        assert "closed\n" in server.said  # plugins and model were closed in order


@pytest.mark.parametrize("grace", ["0.2"])
def test_case_130_after_the_grace_period_streams_end_with_an_error(grace: str) -> None:
    with process(f"grace_s={grace}") as server:
        server.wait_for("is ready")
        with streaming(server) as lines:
            server.send()
            last = list(lines)[-1]
        assert json.loads(last.removeprefix("data: "))["error"]["code"] == "shutting_down"
        assert server.end() == 0


def test_case_130_the_second_signal_ends_at_once() -> None:
    with process("grace_s=1000") as server:
        server.wait_for("is ready")
        with streaming(server) as lines:
            server.send(signal.SIGINT)
            server.wait_for("finishing")
            server.send(signal.SIGINT)
            assert "shutting_down" in list(lines)[-1]
        assert server.end() == 0


def test_case_132_nothing_but_503_while_the_model_is_loaded() -> None:
    with process(mode="hangs") as server:
        server.wait_for("loading fake")
        with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
            for response in (
                http.get("/health"),
                http.get("/v1/models"),
                http.post(CHAT, json=chat_body()),
                http.post("/tokenize", json={"content": "x"}),
                # Whether there is such a route is known when the plugins are, and they come with the model.
                http.post("/v1/sessions", json={}),
                http.get("/v1/anything"),
            ):
                assert response.status_code == 503
                assert response.json()["error"]["code"] == "starting"
                assert int(response.headers["retry-after"]) > 0
            assert http.get("/metrics").status_code == 200
        server.send()
        assert server.end() == 0


def test_case_132_a_load_that_fails_ends_the_process_with_one_line() -> None:
    with process(mode="fails") as server:
        assert server.end() == 2
        assert server.said[-2:] == ["error: fake.gguf: this file is damaged\n", "END"]


def test_health_goes_from_starting_to_ready() -> None:
    with running(loaded=False) as server:
        assert server.http.get("/health").json()["status"] == "starting"
        server.on_loop(lambda: server.state.model_loaded(server.model))
        health = server.http.get("/health")
        assert (health.status_code, health.json()) == (200, {"status": "ok", "model": "fake"})


def test_case_131_a_port_in_use_is_one_line_and_no_model_is_loaded() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with process(f"port={port}") as server:
            assert server.end() == 2
            [line, _] = server.said
            assert line.startswith(f"error: cannot listen on 127.0.0.1:{port}: another program listens there")


def test_case_131_port_0_prints_the_real_port_and_ipv6_works() -> None:
    with process("host=::1") as server:
        server.wait_for("curl http://")
        assert re.fullmatch(r"http://\[::1\]:[1-9]\d+", server.url)
        assert httpx.get(server.url + "/health", timeout=PATIENCE).status_code == 200
        text = "".join(server.said)
        for word in ("model", "plugins", "keys", "address", "metrics", "threads"):
            assert re.search(rf"^  {word} +\S", text, re.MULTILINE), word
        server.send()
        assert server.end() == 0


def test_case_135_no_key_is_ever_shown(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# comment\nalice:sk-from-a-file\n")
    options = ("log_level=debug", f"keys_file={keys}", "log_format=json")
    with process(*options, REAME_SERVER__API_KEY="sk-from-a-variable") as server:
        server.wait_for("is ready")
        for key in ("sk-from-a-file", "sk-from-a-variable", "sk-wrong"):
            headers = {"Authorization": f"Bearer {key}"}
            with httpx.Client(base_url=server.url, headers=headers, timeout=PATIENCE) as http:
                assert http.get("/v1/models").status_code == (401 if key == "sk-wrong" else 200)
                metrics = http.get("/metrics").text
                http.post(CHAT, json={"model": "x\ny"})
        shown = "".join(server.said) + metrics
        command_line = Path(f"/proc/{server.child.pid}/cmdline").read_text()
        assert "sk-" not in shown + command_line
        server.wait_for('"key": ?"alice"')
        server.send()
        assert server.end() == 0
        assert all(json.loads(line)["message"] for line in server.said if line != "END")
