"""The server: where it binds, how it stops."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from windward.basics.errors import ArgumentError
from windward.journal import open_journal
from windward.service.app import create_app
from windward.service.protocol import protocol_within
from windward.service.settings import Settings, is_loopback

# After a signal, requests that run may finish for so long; what is in the journal stays there in any case.
GRACE_SECONDS = 30
# Then fits are ended, and so long remains to tell their clients.
LAST_SECONDS = 5
# Connections that may wait to be taken.
BACKLOG = 2048


def check_binding(host: str, given_token: bool) -> None:
    """Refuse to be reachable from elsewhere without a token that somebody chose."""
    if not is_loopback(host) and not given_token:
        raise ArgumentError(
            f"serve --host {host}: to be reached from other machines, give an admin token: set WINDWARD_ADMIN_TOKEN, or "
            "use --admin-token-file."
        )


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # TCP by name: asyncio sets TCP_NODELAY only where it sees it. Without it the second part of each answer on a connection
    # that is used again waits for the client's delayed acknowledgement of the first, some 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(BACKLOG)  # now: who calls before the service has started waits, and is not refused
    except OSError as error:
        made.close()
        raise ArgumentError(f"serve: cannot bind {host} port {port}: {error.strerror or error}.") from error
    return made


class _Server(uvicorn.Server):
    """A server whose signals also limit the time that fits have left: uvicorn would wait for one, then answer 500."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop."""
        super().handle_exit(sig, frame)
        timer = threading.Timer(GRACE_SECONDS, self._end_fits)
        timer.daemon = True  # a service that has stopped does not wait for it
        timer.start()

    def _end_fits(self) -> None:
        kitchen = getattr(self._app.state, "kitchen", None)  # None: it was stopped before it had started
        if kitchen is not None:
            kitchen.fits.end()


def configured(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """Return how uvicorn serves the app."""
    return uvicorn.Config(
        app,
        http=protocol_within(settings.header_seconds, settings.body_seconds),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS + LAST_SECONDS,
        backlog=BACKLOG,
    )


def serve(settings: Settings, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until a signal comes; `ready` is called with the address once the socket is bound."""
    open_journal(settings.journal)  # storage that cannot be reached is said now, not in a log
    app = create_app(settings)
    listening = bound(host, port)
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{listening.getsockname()[1]}")
    config = configured(app, settings)
    # Uvicorn raises the signal that stopped it again when all is done; then it has been heeded, and the exit is clean.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)
    _Server(config, app).run(sockets=[listening])
