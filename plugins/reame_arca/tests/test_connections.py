"""Every kind of store that a url can name: behind TLS, of an ACL user, found by sentinels, in a cluster."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import redis
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from reame_arca.administration import StoreError, examine, flush, open_store, use_of
from reame_arca.answers.leases import Leases
from reame_arca.large import PIECE, read_large, write_large
from reame_arca.options import Options
from reame_arca.sealing import Space
from reame_arca.store import Refused, Store
from reame_arca.stream import BEGINNING, read_page

from plugins.reame_arca.tests.blocks.members import member
from plugins.reame_arca.tests.generations.members import member as archiving
from plugins.reame_arca.tests.real_store import (
    PATIENCE,
    RealStore,
    free_port,
    real_store,
    server_binary,
    wait_until,
)
from plugins.reame_arca.tests.test_store import ask_until_open, works
from plugins.reame_arca.tests.test_store import open_store as opened_store
from plugins.reame_diskkv.tests.driver import plain, request, words
from tests.engine.support import greedy

SPACE = Space("reame", "test", {}, "", None)
NAME = SPACE.name(b"x")
ACL = "~reame:* +@read +@write +@scripting +@connection +info"
"""What a user needs."""
PAGE = Path(__file__).parents[3] / "docs" / "arca.md"


@pytest.fixture
def opened() -> Iterator[list[Store]]:
    """Stores to be closed at the end."""
    stores: list[Store] = []
    yield stores
    for each in stores:
        each.close(0.1)


def does_everything(store: Store) -> None:
    """What the layers ask of a store."""
    payload = bytes(2 * PIECE + 5)
    store.ask(lambda client: write_large(client, SPACE, NAME, [payload], 100), PATIENCE)
    assert store.ask(lambda client: read_large(client, SPACE, NAME, len(payload)), PATIENCE) == payload
    with closing(Leases(store)):
        lease = Leases.new("reame:lock")
        assert store.ask(lambda client: client.set(lease.name, lease.token, nx=True, px=10_000))
        store.ask(lease.release)
        assert store.ask(lambda client: client.exists(lease.name)) == 0
    store.ask(lambda client: client.xadd("reame:stream", {b"g": b"x"}))
    page = store.ask(lambda client: read_page(client, "reame:stream", BEGINNING, 9, b"g", 9))
    assert [each.value for each in page.entries] == [b"x"]
    assert page.newest == page.entries[-1].id


def can_be_looked_after(options: Options) -> None:
    with open_store(options) as client:
        assert examine(client, options).healthy
        before = sum(each.keys for each in use_of(client, options).layers)
        assert before > 0
        assert flush(client, options, None) == before
        assert use_of(client, options).layers == []


# TLS


class Certificates:
    """An authority of our own, and what it has signed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "arca's tests")])
        self.authority = self._write("ca", self._signed(self._name, self._key, authority=True), self._key)[0]

    def issue(self, name: str, address: str) -> tuple[str, str]:
        """Files with a certificate for ``address`` and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        return self._write(name, self._signed(subject, key, IPv4Address(address)), key)

    def _signed(
        self, subject: x509.Name, key: Any, address: IPv4Address | None = None, *, authority: bool = False
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if address is not None:
            names = x509.SubjectAlternativeName([x509.IPAddress(address)])
            builder = builder.add_extension(names, critical=False)
        else:
            usage = dict.fromkeys(
                (
                    "content_commitment",
                    "key_encipherment",
                    "data_encipherment",
                    "key_agreement",
                    "encipher_only",
                    "decipher_only",
                ),
                False,
            )
            allowed = x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **usage)
            builder = builder.add_extension(allowed, critical=True)
        return builder.sign(self._key, SHA256())

    def _write(self, name: str, certificate: x509.Certificate, key: Any) -> tuple[str, str]:
        files = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        files[0].write_bytes(certificate.public_bytes(Encoding.PEM))
        files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return str(files[0]), str(files[1])


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    """Skips the test where the store was built without TLS."""
    said = subprocess.run(
        [server_binary(), "--port", "0", "--tls-port", "1"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    if "tls-cert-file" not in said.stdout + said.stderr:
        pytest.skip("this store was built without TLS")
    return Certificates(tmp_path)


@pytest.fixture
def secure(tmp_path: Path, certificates: Certificates) -> Iterator[tuple[RealStore, dict[str, Any]]]:
    """A store that asks its clients for certificates, and the options that reach it."""
    port = free_port()
    server, key = certificates.issue("server", "127.0.0.1")
    flags = {
        "tls-port": str(port),
        "tls-cert-file": server,
        "tls-key-file": key,
        "tls-ca-cert-file": certificates.authority,
        "tls-auth-clients": "yes",
    }
    mine, my_key = certificates.issue("client", "127.0.0.1")
    options = {
        "url": f"rediss://127.0.0.1:{port}",
        "ca_file": certificates.authority,
        "cert_file": mine,
        "key_file": my_key,
    }
    given = [each for name, value in flags.items() for each in (f"--{name}", value)]
    with real_store(tmp_path, *given) as store:
        yield store, options


def test_tls(secure: tuple[RealStore, dict[str, Any]], opened: list[Store]) -> None:
    store, options = secure
    does_everything(opened_store(opened, **options))
    assert NAME in store.names()
    given = Options(**options, timeout_ms=2000)
    can_be_looked_after(given)


@pytest.mark.parametrize("missing", ["ca_file", "cert_file"])
def test_tls_trusts_nobody_unknown(
    secure: tuple[RealStore, dict[str, Any]], opened: list[Store], missing: str
) -> None:
    options = {name: value for name, value in secure[1].items() if name != missing}
    if missing == "cert_file":
        del options["key_file"]
    ask_until_open(opened_store(opened, **options))
    with pytest.raises(StoreError, match=r"does not answer: .*(certificate|SSL|protocol|closed|reset)"):
        open_store(Options(**options))


def test_a_certificate_of_another_server(
    tmp_path: Path, certificates: Certificates, opened: list[Store]
) -> None:
    server, key = certificates.issue("server", "127.0.0.2")
    port = free_port()
    flags = ["--tls-port", str(port), "--tls-cert-file", server, "--tls-key-file", key]
    flags += ["--tls-ca-cert-file", certificates.authority, "--tls-auth-clients", "no"]
    with real_store(tmp_path, *flags):
        options = {"url": f"valkeys://127.0.0.1:{port}", "ca_file": certificates.authority}
        ask_until_open(opened_store(opened, **options))
        with pytest.raises(StoreError, match="certificate"):
            open_store(Options(**options))


# An ACL user


def test_a_user_who_may_do_no_more_than_is_needed(store: RealStore, opened: list[Store]) -> None:
    assert f"ACL SETUSER arca on >PASSWORD {ACL}\n" in PAGE.read_text("utf-8")
    with store.client() as client:
        client.execute_command("ACL", "SETUSER", "arca", "on", ">word", *ACL.split())
    does_everything(opened_store(opened, store.url, username="arca", password="word"))
    can_be_looked_after(Options(url=store.url, username="arca", password="word", timeout_ms=2000))


# Sentinels


class Sentinel:
    """Watches ``primary``, and puts a replica in its place when it is gone."""

    def __init__(self, folder: Path, primary: RealStore) -> None:
        self.port = free_port()
        file = folder / "sentinel.conf"
        file.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {folder}\n"
            f"sentinel monitor mymaster 127.0.0.1 {primary.port} 1\n"
            "sentinel down-after-milliseconds mymaster 300\n"
            "sentinel failover-timeout mymaster 3000\n"
        )
        with (folder / "sentinel.log").open("ab") as log:
            self._process = subprocess.Popen(
                [server_binary(), str(file), "--sentinel"], stdout=log, stderr=log, cwd=folder
            )

    def knows(self, replicas: int) -> bool:
        try:
            with redis.Redis(port=self.port, socket_timeout=PATIENCE, protocol=2) as client:
                found = client.execute_command("SENTINEL", "replicas", "mymaster")
        except redis.exceptions.ConnectionError:
            return False
        return len(found) == replicas

    def close(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)


def test_sentinels_name_another_server_when_one_is_gone(tmp_path: Path, opened: list[Store]) -> None:
    with ExitStack() as stack:
        folders = [tmp_path / name for name in ("primary", "replica", "sentinel")]
        for folder in folders:
            folder.mkdir()
        primary = stack.enter_context(real_store(folders[0]))
        quick = ("--repl-diskless-sync-delay", "0")
        replica = stack.enter_context(
            real_store(folders[1], "--replicaof", "127.0.0.1", str(primary.port), *quick)
        )
        wait_until(lambda: _replicates(replica))
        sentinel = Sentinel(folders[2], primary)
        stack.callback(sentinel.close)
        wait_until(lambda: sentinel.knows(1))
        shared = opened_store(opened, "redis://nobody.asks.this", sentinels=[f"127.0.0.1:{sentinel.port}"])
        wait_until(lambda: works(shared))
        assert primary.names() == ["x"]
        wait_until(lambda: replica.names() == ["x"])
        primary.kill()
        wait_until(lambda: works(shared))
        with replica.client() as client:
            assert client.info("replication")["role"] == "master"
        does_everything(shared)


def _replicates(store: RealStore) -> bool:
    with store.client() as client:
        found: dict[str, Any] = client.info("replication")
    return found.get("master_link_status") == "up"


# A cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[RealStore]]:
    """Three servers with a third of all keys each."""
    with ExitStack() as stack:
        nodes = []
        for number in range(3):
            folder = tmp_path / f"node{number}"
            folder.mkdir()
            flags = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
            nodes.append(stack.enter_context(real_store(folder, *flags)))
        for number, node in enumerate(nodes):
            with node.client() as client:
                slots = number * 16384 // 3, (number + 1) * 16384 // 3 - 1
                client.execute_command("CLUSTER ADDSLOTSRANGE", *slots)
                first = nodes[0]
                bus = first._arguments[first._arguments.index("--cluster-port") + 1]
                client.execute_command("CLUSTER MEET", "127.0.0.1", str(first.port), bus)
        wait_until(lambda: all(_whole(node) for node in nodes))
        yield nodes


def _whole(node: RealStore) -> bool:
    with node.client() as client:
        said = client.execute_command("CLUSTER INFO")
    text = said if isinstance(said, dict) else dict(line.split(":") for line in said.decode().split())
    return text["cluster_state"] == "ok" and text["cluster_known_nodes"] == "3"


def test_a_cluster(cluster: list[RealStore], opened: list[Store]) -> None:
    url = cluster[1].url
    does_everything(opened_store(opened, url, cluster=True, timeout_ms=2000, patience_ms=5000))
    can_be_looked_after(Options(url=url, cluster=True, timeout_ms=2000))


def test_a_user_of_a_cluster(cluster: list[RealStore], opened: list[Store]) -> None:
    for node in cluster:
        with node.client() as client:
            client.execute_command("ACL", "SETUSER", "arca", "on", ">word", *ACL.split(), "+cluster")
    limits = {"timeout_ms": 2000, "patience_ms": 5000}
    given = {"cluster": True, "username": "arca", "password": "word", **limits}
    does_everything(opened_store(opened, cluster[0].url, **given))


def test_the_layers_on_a_cluster(cluster: list[RealStore], tmp_path: Path) -> None:
    arca = {"cluster": True, "timeout_ms": 2000, "patience_ms": 5000}
    prompt = words(100)
    with ExitStack() as stack:
        first, second = (stack.enter_context(member(tmp_path / name, cluster[0].url, arca)) for name in "ab")
        assert first.ask(prompt).said == plain(request(prompt))[0]
        answer = second.ask(prompt)
        assert answer.said == plain(request(prompt))[0]
        assert answer.restored == 99
    assert all(node.names() for node in cluster), "the keys are on all of them"
    with ExitStack() as stack:
        one, two = (stack.enter_context(archiving(tmp_path / name, cluster[2].url, arca)) for name in "cd")
        one.ask(greedy(words(40), 30))
        two.holds(1)


def test_one_of_a_cluster_that_is_not_said_to_be(
    cluster: list[RealStore], opened: list[Store], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(StoreError, match="is one of a cluster"):
        open_store(Options(url=cluster[0].url))
    shared = opened_store(opened, cluster[0].url)
    for number in range(30):
        with contextlib.suppress(Refused):
            shared.ask(lambda client, number=number: client.set(f"reame:{number}", b"x"))
    assert sum("set plugins.arca.cluster = true" in said for said in caplog.messages) == 1


def test_a_store_alone_that_is_said_to_be_a_cluster(store: RealStore) -> None:
    with pytest.raises(StoreError, match="is no cluster: leave out"):
        open_store(Options(url=store.url, cluster=True))
