"""What an operator wants to know of a shared store, and removing what is in it."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisClusterException, RedisError, ResponseError

from reame_arca.answers.leases import Leases
from reame_arca.connection import OF_A_CLUSTER, connect
from reame_arca.sealing import Space
from reame_core.errors import ReameError

if TYPE_CHECKING:
    from reame_arca.connection import Client
    from reame_arca.options import Options

_TROUBLE = (RedisError, RedisClusterException, OSError)
_AT_ONCE = 1000
_PINGS = 20
_LOW_THRESHOLD = 0.75
_PROBE = b"what the doctor writes"


class StoreError(ReameError):
    """The store has not done what was asked of it."""


@dataclass(frozen=True, slots=True)
class LayerUse:
    """What one layer takes."""

    layer: str
    keys: int
    bytes: int
    """Of memory, as the store counts; 0 where it may not be asked."""


@dataclass(frozen=True, slots=True)
class StoreUse:
    """What a store holds."""

    address: str
    server: str
    """Name and version."""
    used_bytes: int
    max_bytes: int
    """0 where there is no limit."""
    policy: str
    """What goes when the limit is reached."""
    layers: list[LayerUse]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: str
    """``ok``, ``advice`` or ``wrong``."""
    text: str


@dataclass(slots=True)
class Examination:
    """What a doctor finds."""

    findings: list[Finding] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        return all(finding.state != "wrong" for finding in self.findings)

    def add(self, what: str, state: str, text: str) -> None:
        self.findings.append(Finding(what, state, text))


def open_store(options: Options) -> Client:
    """A patient client. Raises StoreError where it does not answer, or is of another kind than was said."""
    try:
        client = connect(options, options.patience_ms / 1000)
        client.ping()
    except _TROUBLE as error:
        text = _one_line(error)
        if options.cluster and "cluster mode" in text.lower():
            raise StoreError(
                f"the store at {options.address} is no cluster: leave out plugins.arca.cluster"
            ) from None
        raise StoreError(f"the store at {options.address} does not answer: {text}") from None
    if not options.cluster and _is_of_a_cluster(client):
        raise StoreError(f"the store at {options.address} {OF_A_CLUSTER}")
    return client


def _is_of_a_cluster(client: Client) -> bool:
    try:
        return bool(_info(client, "cluster").get("cluster_enabled"))
    except _TROUBLE:
        # Not everybody may ask.
        return False


def use_of(client: Client, options: Options) -> StoreUse:
    """Looks at every key of ours. Raises StoreError."""
    try:
        keys: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for names in _names(client, options.prefix):
            for name, size in zip(names, _sizes(client, names), strict=True):
                layer = name.removeprefix(f"{options.prefix}:").partition(":")[0]
                keys[layer] += 1
                sizes[layer] += size
        memory, server = _info(client, "memory"), _info(client, "server")
    except _TROUBLE as error:
        raise StoreError(f"the store at {options.address} cannot be looked at: {_one_line(error)}") from None
    return StoreUse(
        options.address,
        _version(server),
        int(memory.get("used_memory", 0)),
        int(memory.get("maxmemory", 0)),
        str(memory.get("maxmemory_policy", "")),
        [LayerUse(layer, keys[layer], sizes[layer]) for layer in sorted(keys)],
    )


def flush(client: Client, options: Options, layer: str | None) -> int:
    """Remove what is shared, of one ``layer`` or of all; how many keys that were. Raises StoreError."""
    prefix = options.prefix if layer is None else f"{options.prefix}:{layer}"
    removed = 0
    try:
        for names in _names(client, prefix):
            with client.pipeline(transaction=False) as pipe:
                for name in names:
                    pipe.unlink(name)
                removed += sum(int(count) for count in pipe.execute())
    except _TROUBLE as error:
        raise StoreError(f"the store at {options.address} removes nothing: {_one_line(error)}") from None
    return removed


def examine(client: Client, options: Options) -> Examination:
    """Does what servers do, and says what to mend."""
    found = Examination()
    found.add("server", "ok", _asked(lambda: _version(_info(client, "server")), "it does not say what it is"))
    _examine_pace(client, options, found)
    _examine_values(client, options, found)
    _examine_locks(client, options, found)
    if options.similar:
        _examine_index(client, options, found)
    _examine_memory(client, found)
    _examine_privacy(options, found)
    return found


def _examine_pace(client: Client, options: Options, found: Examination) -> None:
    took = []
    for _ in range(_PINGS):
        begun = perf_counter()
        client.ping()
        took.append(1000 * (perf_counter() - begun))
    usual, worst = statistics.median(took), max(took)
    text = f"{usual:.2f} ms usually, {worst:.2f} ms at worst, of {_PINGS}; limit {options.timeout_ms:g} ms"
    if 2 * usual > options.timeout_ms:
        found.add("round trip", "wrong", f"{text}: use a nearer store or raise plugins.arca.timeout_ms")
    elif worst > options.timeout_ms:
        found.add("round trip", "advice", f"{text}: some answers would come too late")
    else:
        found.add("round trip", "ok", text)


def _examine_values(client: Client, options: Options, found: Examination) -> None:
    space = Space(options.prefix, "doctor", {}, "", options.read_secret())
    name = space.name(_PROBE)
    try:
        client.set(name, space.seal(name, _PROBE), px=10_000)
        value = client.getrange(name, 0, 4096)
        client.unlink(name)
    except _TROUBLE as error:
        found.add("values", "wrong", f"cannot be written, read and removed: {_one_line(error)}")
        return
    if isinstance(value, bytes) and space.open(name, value) == _PROBE:
        found.add("values", "ok", "written, read again, checked and removed")
    else:
        found.add("values", "wrong", "another value came back than was written")


def _examine_locks(client: Client, options: Options, found: Examination) -> None:
    space = Space(options.prefix, "doctor", {}, "", options.read_secret())
    lease = Leases.new(space.name(b"lock"))
    try:
        taken = client.set(lease.name, lease.token, nx=True, px=10_000)
        lease.release(client)
        gone = client.exists(lease.name) == 0
    except _TROUBLE as error:
        found.add(
            "locks",
            "wrong",
            f"SET NX and EVAL are needed, or answers_wait_s = 0 and generations = false: {_one_line(error)}",
        )
        return
    if taken and gone:
        found.add("locks", "ok", "taken and released")
    else:
        found.add("locks", "wrong", "a lock was not taken, or not released")


def _examine_index(client: Client, options: Options, found: Examination) -> None:
    name = Space(options.prefix, "doctor", {}, "", options.read_secret()).name(b"index")
    try:
        client.xadd(name, {b"q": _PROBE}, maxlen=1, approximate=True)
        client.pexpire(name, 10_000)
        entries = client.xrange(name, "-", "+", count=1)
        client.unlink(name)
    except _TROUBLE as error:
        found.add("similar", "wrong", f"the index of questions cannot be written and read: {_one_line(error)}")
        return
    if [fields for _, fields in entries or ()] != [{b"q": _PROBE}]:
        found.add("similar", "wrong", "another entry of the index came back than was written")
        return
    text = f"by {options.similar_model}, cosine at least {options.similar_threshold:g}"
    if options.similar_threshold < _LOW_THRESHOLD:
        found.add("similar", "advice", f"{text}: a low plugins.arca.similar_threshold finds wrong answers")
    else:
        found.add("similar", "ok", text)


def _examine_memory(client: Client, found: Examination) -> None:
    try:
        memory = _info(client, "memory")
    except _TROUBLE as error:
        found.add("memory", "advice", f"it does not say how much it uses: {_one_line(error)}")
        return
    limit, policy = int(memory.get("maxmemory", 0)), str(memory.get("maxmemory_policy", ""))
    used = f"{int(memory.get('used_memory', 0)) / 1e6:,.0f} MB"
    if not limit:
        found.add(
            "memory", "advice", f"{used} used, without a limit: set maxmemory, and its policy to volatile-lru"
        )
    elif policy == "noeviction":
        found.add(
            "memory",
            "advice",
            f"{used} of {limit / 1e6:,.0f} MB used; when it is full nothing is shared any more: set"
            " maxmemory-policy to volatile-lru",
        )
    else:
        found.add("memory", "ok", f"{used} of {limit / 1e6:,.0f} MB used, then {policy}")


def _examine_privacy(options: Options, found: Examination) -> None:
    if options.read_secret() is None:
        found.add(
            "secret",
            "advice",
            "values are checked for damage, but whoever may use the store can read and forge them: set"
            " plugins.arca.secret_file on all servers",
        )
    else:
        found.add("secret", "ok", "values are encrypted, forged ones are refused")


def _names(client: Client, prefix: str) -> Iterator[list[str]]:
    """Our keys, so many at once."""
    batch: list[str] = []
    for name in client.scan_iter(match=f"{prefix}:*", count=_AT_ONCE):
        batch.append(name.decode() if isinstance(name, bytes) else str(name))
        if len(batch) >= _AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _sizes(client: Client, names: list[str]) -> list[int]:
    with client.pipeline(transaction=False) as pipe:
        for name in names:
            pipe.memory_usage(name)
        answers = pipe.execute(raise_on_error=False)
    return [answer if isinstance(answer, int) else 0 for answer in answers]


def _info(client: Client, section: str) -> dict[str, Any]:
    info: dict[str, Any] = client.info(section)
    # A cluster answers for each node; one stands for all.
    first = next(iter(info.values()), None)
    return first if isinstance(first, dict) and "used_memory" not in info else info


def _version(server: dict[str, Any]) -> str:
    if "valkey_version" in server:
        return f"Valkey {server['valkey_version']}"
    return f"Redis {server.get('redis_version', '(unknown version)')}"


def _asked(question: Any, otherwise: str) -> str:
    try:
        return str(question())
    except (ResponseError, OSError):
        return otherwise


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
