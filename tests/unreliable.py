"""A line to a PostgreSQL server that breaks when told to: before a commit reaches the server, or before its answer returns."""

from __future__ import annotations

import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal

Cut = Literal["before the commit", "after the commit"]


class Line:
    """Pass bytes on between a folder of its own and the server's socket; `cut` breaks the connection at the next commit."""

    def __init__(self, server: Path) -> None:
        self._server = str(server / ".s.PGSQL.5432")
        self._folder = tempfile.TemporaryDirectory(prefix="windward-line-", dir="/tmp")
        self.folder = Path(self._folder.name)
        self.cut: Cut | None = None
        self.cuts = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.folder / ".s.PGSQL.5432"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        self._folder.cleanup()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            gone = threading.Event()  # set once the answer to a commit must not reach the client
            threading.Thread(target=self._forward, args=(client, server, gone), daemon=True).start()
            threading.Thread(target=self._back, args=(server, client, gone), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket, gone: threading.Event) -> None:
        while data := _received(client):
            if self.cut is not None and b"COMMIT" in data:
                cut, self.cut = self.cut, None
                self.cuts += 1
                if cut == "before the commit":
                    break
                gone.set()
            server.sendall(data)
        if not gone.is_set():
            _end(client, server)

    def _back(self, server: socket.socket, client: socket.socket, gone: threading.Event) -> None:
        while data := _received(server):
            if gone.is_set():  # the server has answered, so the commit is on its disk
                break
            client.sendall(data)
        _end(client, server)


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(65536)
    except OSError:
        return b""


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)  # closing alone would not reach a thread that is still receiving
        end.close()
