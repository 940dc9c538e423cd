"""A server from its start to its end: one process, one event loop, the model loaded while the port is
already answering, and a shutdown that lets running requests finish."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import structlog
import uvicorn

from reame_core.running import announced
from reame_core.server.api_keys import configured_keys
from reame_core.server.app import create_app
from reame_core.server.banner import banner
from reame_core.server.errors import unavailable
from reame_core.server.listener import address_of, check_reach, listen
from reame_core.server.logs import set_up_logs
from reame_core.server.plugin_routes import add_plugin_routes
from reame_core.server.state import Phase, ServerState

if TYPE_CHECKING:
    import socket

    from litestar import Litestar

    from reame_core.config import Settings
    from reame_core.server.state import ServedModel

log = structlog.get_logger("reame.server")

Opener = Callable[[Callable[[str], None]], AbstractContextManager["ServedModel"]]
"""Opens the model; it is handed somebody to tell what takes a while."""

_IDLE_CONNECTION_S = 75
"""Longer than clients keep unused connections, so that none sends into one that is being closed."""
_LAST_WORDS_S = 2.0
"""For connections and plugins, once nothing is computed any more."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(settings: Settings, open_model: Opener, note: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C. ``note`` shows a line to the person who started the server.

    Raises ConfigError for an address that cannot be used, and whatever ``open_model`` raises.
    """
    keys = configured_keys(settings.values.server)
    check_reach(settings.values.server, has_keys=bool(keys))
    listener = listen(settings.values.server)
    set_up_logs(settings.values.server)
    if settings.values.server.log_format == "json":
        note = _log_line
    server = ServerState(settings, keys)
    address = address_of(listener, settings.values.server.host)
    note(f"listening on {address}, loading the model")
    with contextlib.closing(listener), announced(address):
        _Lifetime(server, listener, address, open_model, note).run()


def _log_line(line: str) -> None:
    """What is said to people, where everything has to be JSON."""
    if line.strip():
        log.info(line.strip())


class _Uvicorn(uvicorn.Server):
    """Leaves signals to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class _Lifetime:
    def __init__(
        self,
        server: ServerState,
        listener: socket.socket,
        address: str,
        open_model: Opener,
        note: Callable[[str], None],
    ) -> None:
        self._server = server
        self._listener = listener
        self._address = address
        self._loader = _Loader(open_model, note)
        self._note = note
        self._signals = 0
        self._failure: BaseException | None = None

    def run(self) -> None:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._main())
        if self._failure is not None:
            raise self._failure

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        self._stop_asked = asyncio.Event()
        self._hurry = asyncio.Event()
        for number in _SIGNALS:
            # A process started with interrupts ignored, as by nohup, keeps ignoring them.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._on_signal)
        app = create_app(self._server)
        http = _Uvicorn(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                timeout_keep_alive=_IDLE_CONNECTION_S,
                timeout_graceful_shutdown=int(_LAST_WORDS_S),
            )
        )
        serving = asyncio.create_task(http.serve(sockets=[self._listener]))
        stopping = asyncio.create_task(self._stop_asked.wait())
        loading = asyncio.create_task(self._load(app))
        await asyncio.wait({serving, stopping, loading}, return_when=asyncio.FIRST_COMPLETED)
        if loading.done() and self._failure is None:
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await self._drain()
        http.should_exit = True
        await serving
        stopping.cancel()
        await self._close(loading)

    async def _load(self, app: Litestar) -> None:
        started = time.monotonic()
        try:
            model = await self._loader.load()
        except BaseException as error:
            self._failure = error
            return
        add_plugin_routes(app, self._server, model)
        self._server.model_loaded(model)
        for line in banner(self._server, model, self._address, time.monotonic() - started):
            self._note(line)

    def _on_signal(self) -> None:
        self._signals += 1
        if self._signals == 1:
            self._stop_asked.set()
        elif self._signals == 2:
            self._hurry.set()
            # Nothing may keep the process from ending now.
            timer = threading.Timer(_LAST_WORDS_S, os._exit, (0,))
            timer.daemon = True
            timer.start()
        else:
            os._exit(0)

    async def _drain(self) -> None:
        """No new requests; those that run have the grace period, then end with an error."""
        server = self._server
        server.phase = Phase.DRAINING
        if server.exchanges:
            running, grace = len(server.exchanges), server.settings.grace_s
            self._note(f"finishing {running} running requests within {grace:g} s; once more to stop at once")
            await self._wait_for_exchanges(grace)
        for exchange in list(server.exchanges):
            exchange.end(unavailable("the server is shutting down", "shutting_down", retry_after=None))

    async def _wait_for_exchanges(self, grace: float) -> None:
        hurry = asyncio.create_task(self._hurry.wait())
        server = self._server
        server.exchange_closed.clear()
        deadline = time.monotonic() + grace
        while server.exchanges and not hurry.done() and (left := deadline - time.monotonic()) > 0:
            closed = asyncio.create_task(server.exchange_closed.wait())
            await asyncio.wait({hurry, closed}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            closed.cancel()
            server.exchange_closed.clear()
        hurry.cancel()

    async def _close(self, loading: asyncio.Task[None]) -> None:
        if not loading.done():
            # llama.cpp cannot be interrupted while it loads, and nothing has been begun that has to end well.
            self._note("stopped while the model was being loaded")
            os._exit(0)
        await asyncio.to_thread(self._loader.close)
        if self._failure is None:
            self._note("stopped")


class _Loader:
    """Opens the model on a thread that does not keep the process alive."""

    def __init__(self, open_model: Opener, note: Callable[[str], None]) -> None:
        self._open_model = open_model
        self._note = note
        self._opened: AbstractContextManager[ServedModel] | None = None

    async def load(self) -> ServedModel:
        loop = asyncio.get_running_loop()
        result: asyncio.Future[ServedModel] = loop.create_future()

        def tell(action: Callable[[], None]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(lambda: None if result.done() else action())

        def run() -> None:
            try:
                opened = self._open_model(self._note)
                model = opened.__enter__()
                self._opened = opened
            except BaseException as error:
                caught = error
                tell(lambda: result.set_exception(caught))
            else:
                tell(lambda: result.set_result(model))

        threading.Thread(target=run, name="reame-loader", daemon=True).start()
        return await result

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.__exit__(None, None, None)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
