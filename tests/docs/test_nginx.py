"""The configuration of nginx, in front of a server."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
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
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
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
    tested = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        transport = httpx.HTTPTransport(retries=8)
        with httpx.Client(transport=transport, base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            client.get("/health")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
