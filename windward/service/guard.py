"""What every request passes: limits on its size and time, strict JSON, headers for the browser, errors as plain answers."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException as StarletteException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from windward.basics.errors import (
    JournalError,
    MissingDependency,
    SolverError,
    StudyExists,
    TrialError,
    UnknownStudy,
    WindwardError,
)
from windward.basics.rephrase import as_request
from windward.service.fits import Busy, Interrupted

logger = logging.getLogger("windward")

# Of a length: Python refuses to read whole numbers of thousands of digits.
MOST_DIGITS = 20
# How the journal begins an error about one study: by its own name, which is its URL.
ABOUT_A_STUDY = re.compile(r"^SqlJournal\(.*?\): (?=study )")
# The page runs its own script and nothing else; plotly sets styles from its script.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"cache-control", b"no-store"),  # where a route says nothing else
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Wrong(HTTPException):
    """A request that cannot be served, with its status, a message and headers."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, message, headers)


class Doorkeeper:
    """Refuse bodies over a limit, by what they say of themselves and by what comes, and bodies that come slowly.

    It also sets the browser's headers, and answers errors that nobody expected: their details are for the log alone.
    """

    def __init__(self, app: ASGIApp, largest: int, seconds: float) -> None:
        self.app, self.largest, self.seconds = app, largest, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, its body counted."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answering = _Answering(send)
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if not said.isdigit() or len(said) > MOST_DIGITS or int(said) > self.largest:
            answer = answered(413, f"a body may have {self.largest} bytes, this one has {said.decode('latin1')[:20]}.")
            await answer(scope, receive, answering)
            return
        try:
            await self.app(scope, self._limited(receive), answering)
        except Exception:
            logger.exception("%s %r failed", scope["method"], scope["path"])
            if answering.begun:  # it cannot be taken back; the server cuts it off
                raise
            message = "the service failed in a way nobody expected; its log says more."
            await answered(500, message)(scope, receive, answering)

    def _limited(self, receive: Receive) -> Receive:
        taken, deadline, whole = 0, asyncio.get_running_loop().time() + self.seconds, False

        async def limited() -> Message:
            nonlocal taken, whole
            if whole:  # what comes now is the end of the connection, however late
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError as error:
                raise Wrong(408, f"a body must arrive within {self.seconds:g} s.", {"connection": "close"}) from error
            taken += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if taken > self.largest:
                raise Wrong(413, f"a body may have {self.largest} bytes.")
            return message

        return limited


class _Answering:
    """A way to send an answer that adds the browser's headers, and knows whether the answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            present = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in HEADERS if pair[0] not in present)]
        await self._send(message)


class StrictRequest(Request):
    """A request whose JSON has numbers that are numbers: no NaN, nothing beyond the floats, no endless nesting."""

    async def json(self) -> Any:
        """Return the body, or raise `Wrong`."""
        body = await self.body()
        try:
            text = body.decode("utf-8")
            return json.loads(text, parse_constant=_no_constant, parse_float=_finite)
        except RecursionError as error:
            raise Wrong(400, "the body is nested too deeply.") from error
        except ValueError as error:  # of JSON, of UTF-8, of numbers with thousands of digits
            raise Wrong(400, f"the body is not JSON: {str(error)[:200]}") from error


class StrictRoute(APIRoute):
    """A route that reads its requests strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, given a strict request."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            # Every body is JSON, whatever it is called: curl calls what it sends a form.
            headers = [pair for pair in request.scope["headers"] if pair[0] != b"content-type"]
            scope = {**request.scope, "headers": [*headers, (b"content-type", b"application/json")]}
            return await handle(StrictRequest(scope, request.receive))

        return strict


def add_handlers(app: FastAPI) -> None:
    """Answer every error with `{"error": message}` and the status it deserves."""

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, UnknownStudy) and not getattr(request.state, "admin", False):
            return answered(404, "there is no such study.")  # the message lists the others
        return answered(status_of(error), as_request(for_clients(error), request.path_params.get("name")))

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        # Not what was sent: it may hold what JSON cannot say.
        found = [{"where": [str(part) for part in each["loc"]], "what": each["msg"]} for each in error.errors()[:20]]
        first = f"{'.'.join(found[0]['where'])}: {found[0]['what']}" if found else "the request is not valid."
        return answered(422, first, details=found)

    async def plain(request: Request, error: Exception) -> Response:
        assert isinstance(error, StarletteException)
        return answered(error.status_code, str(error.detail), headers=dict(error.headers or {}))

    async def busy(request: Request, error: Exception) -> Response:
        return answered(503, str(error), headers={"retry-after": "2"})

    app.add_exception_handler(WindwardError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(StarletteException, plain)
    app.add_exception_handler(Busy, busy)
    app.add_exception_handler(Interrupted, busy)


def for_clients(error: Exception) -> str:
    """Return what clients are told of an error: where the journal is, is for the log alone."""
    message = str(error)
    if not isinstance(error, JournalError):
        return message
    known = ABOUT_A_STUDY.sub("", message)
    if known == message and "SqlJournal(" not in message:
        return message
    logger.error("%s", message)
    return known if "SqlJournal(" not in known else "the storage failed; the service's log says why. Try again later."


def status_of(error: Exception) -> int:
    """Return the status of an error that Windward raised."""
    for kind, status in (
        (UnknownStudy, 404),
        (StudyExists, 409),
        (TrialError, 409),
        (JournalError, 503),
        (MissingDependency, 501),
        (SolverError, 500),
    ):
        if isinstance(error, kind):
            return status
    return 422


def answered(status: int, message: str, *, headers: dict[str, str] | None = None, details: Any = None) -> Response:
    """Return the answer that refuses a request."""
    message = message.encode(errors="replace").decode()  # half a surrogate pair cannot be sent
    content = {"error": message} if details is None else {"error": message, "details": details}
    sent = {**(headers or {}), **({"www-authenticate": "Bearer"} if status == 401 else {})}
    return JSONResponse(content, status, headers=sent)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number JSON knows.")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is beyond what a number can hold.")
    return number
