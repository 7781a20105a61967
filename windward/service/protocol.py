"""HTTP that does not wait for ever: uvicorn's own has no limit on the time that a request takes to arrive.

Headers must be complete within some seconds of connecting, or of their first byte on a connection that is used again. The
body of a request that is being served has its limit in `guard.py`; what is left of one that was answered already has it
here. Between requests uvicorn's own limit on idle connections holds.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from windward.service.guard import HEADERS


def protocol_within(header_seconds: float, body_seconds: float) -> type[H11Protocol]:
    """Return the protocol with its limits; uvicorn makes one for each connection."""

    class Limited(_TimedProtocol):
        seconds: ClassVar[dict[str, float]] = {"headers": header_seconds, "body": body_seconds}

    return Limited


class _TimedProtocol(H11Protocol):
    """uvicorn's protocol, with a limit on what it waits for. It overrides what uvicorn offers no setting for."""

    seconds: ClassVar[dict[str, float]]
    _awaited: str | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the rest of the request, or the next one."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._limit(None)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the form of every other refusal."""
        self._refuse(HTTPStatus.BAD_REQUEST, msg)

    def _watch(self) -> None:
        awaited = None
        if self.transport.is_closing():
            pass
        elif self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            awaited = "headers"  # where uvicorn's task is set, the connection is idle between requests
        elif self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete:
            self._unset_keepalive_if_required()
            awaited = "body"
        if awaited != self._awaited:  # the same as before: its time goes on
            self._limit(awaited)

    def _limit(self, awaited: str | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._awaited = awaited
        self._timer = None if awaited is None else self.loop.call_later(self.seconds[awaited], self._too_slow)

    def _too_slow(self) -> None:
        if self.transport.is_closing():
            return
        begun, _ = self.conn.trailing_data
        if self._awaited == "headers" and begun:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"headers must be complete within {self.seconds['headers']:g} s.")
        else:  # a connection that nothing was sent on, or the rest of a request that was answered
            self.transport.close()

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        body = json.dumps({"error": message}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            *HEADERS,
        ]
        response = h11.Response(status_code=status, headers=headers, reason=status.phrase.encode())
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            sent = self.conn.send(event)
            self.transport.write(sent or b"")
        self.transport.close()
