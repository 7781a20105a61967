"""The server: where it binds, how it stops."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable

import uvicorn

from windward.errors import ArgumentError
from windward.journal import open_journal
from windward.service.app import create_app
from windward.service.settings import Settings, is_loopback

# After a signal, requests that run may finish for so long; what is in the journal stays there in any case.
GRACE_SECONDS = 30
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
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(BACKLOG)  # now: who calls before the service has started waits, and is not refused
    except OSError as error:
        made.close()
        raise ArgumentError(f"serve: cannot bind {host} port {port}: {error.strerror or error}.") from error
    return made


def serve(settings: Settings, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until a signal comes; `ready` is called with the address once the socket is bound."""
    open_journal(settings.journal)  # storage that cannot be reached is said now, not in a log
    app = create_app(settings)
    listening = bound(host, port)
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{listening.getsockname()[1]}")
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=BACKLOG,
    )
    # Uvicorn raises the signal that stopped it again when all is done; then it has been heeded, and the exit is clean.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listening])
