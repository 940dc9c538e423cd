"""The configuration of nginx, in front of a server."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.docs.pages import SERVER, Block, in_language


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
@pytest.mark.parametrize("block", in_language("nginx"), ids=str)
def test_nginx(block: Block, server: str, tmp_path: Path) -> None:
    """nginx takes the configuration; through it a stream comes whole, and an error as it is."""
    with behind_nginx(block.text, server, tmp_path) as address, httpx.Client(base_url=address) as client:
        question = {"role": "user", "content": "Name a fish."}
        body = {"model": "any", "messages": [question], "max_tokens": 30, "stream": True, "ignore_eos": True}
        answer = client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200
        assert answer.text.endswith("data: [DONE]\n\n")
        refused = client.post("/v1/chat/completions", json={"model": "any"})
        assert refused.status_code == 400
        assert refused.json()["error"]["param"] == "messages"
        assert client.get("/health").json()["status"] == "ok"
        assert client.get("/metrics").status_code == 200  # from this machine


@contextmanager
def behind_nginx(text: str, server: str, folder: Path) -> Iterator[str]:
    """The address of an nginx with the configuration of a page, without TLS, in front of ``server``."""
    port = free_port()
    text = text.replace(SERVER.removeprefix("http://"), server.removeprefix("http://"))
    text, listening = re.subn(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", text)
    assert listening == 1
    text = re.sub(r"ssl_\w+ +[^;]+;", "", text)
    temporary = "".join(
        f"{kind}_temp_path {folder};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;\n"
        f"events {{}}\nhttp {{ access_log off; {temporary}\n{text}\n}}\n"
    )
    command = ["nginx", "-e", f"{folder}/error.log", "-c", str(configuration)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not listens(port):
            assert process.poll() is None, (folder / "error.log").read_text()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """One below those that connections of this machine get: nobody takes it before nginx does."""
    for port in random.sample(range(10_000, 30_000), 100):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no free port below 30,000")


def listens(port: int) -> bool:
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
