"""Who asks: what the routes depend on, from the token to the study it opens."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from windward.service import bodies, fits
from windward.service.gate import Gate
from windward.service.guard import Wrong
from windward.service.scribe import Scribe
from windward.service.settings import Settings
from windward.service.shelf import Shelf
from windward.service.tokens import Identity, StudyGone, TokenStore

bearer = HTTPBearer(auto_error=False, description="The admin token, or a study's.")
Name = Annotated[bodies.PathName, Path(min_length=1, max_length=bodies.LONGEST_NAME)]
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


@dataclass(frozen=True)
class Kitchen:
    """What the routes work with."""

    settings: Settings
    shelf: Shelf
    tokens: TokenStore
    gate: Gate
    fits: fits.Fits
    scribe: Scribe
    health: anyio.CapacityLimiter


async def kitchen(request: Request) -> Kitchen:
    """Return what the routes work with."""
    found = request.app.state.kitchen
    assert isinstance(found, Kitchen)
    return found


Inside = Annotated[Kitchen, Depends(kitchen)]


# These are coroutines: a plain function would take a thread of the pool for each of them.


async def identity(request: Request, inside: Inside, credentials: Credentials) -> Identity:
    """Return who asks, or refuse."""
    token = "" if credentials is None else credentials.credentials
    if not token:
        raise Wrong(401, "give a valid token: Authorization: Bearer <token>.")
    address = "" if request.client is None else request.client.host
    if inside.gate.known_wrong(token):
        raise Wrong(401, "give a valid token: Authorization: Bearer <token>.")
    wait = math.ceil(inside.gate.seconds_to_wait(address, token))
    if wait > 0:
        message = f"too many wrong tokens came from this address; try again in {wait} s."
        raise Wrong(429, message, {"retry-after": str(wait)})
    try:
        found = inside.tokens.admin(token) or await run_in_threadpool(inside.tokens.identify, token)
    except StudyGone as error:  # nothing was guessed: it does not count as wrong
        raise Wrong(401, "the study of this token was deleted; ask the admin for a token of another study.") from error
    if found is None:
        inside.gate.wrong(address, token)
        raise Wrong(401, "give a valid token: Authorization: Bearer <token>.")
    inside.gate.valid(token)
    request.state.admin = found.admin
    return found


async def administrator(who: Annotated[Identity, Depends(identity)]) -> Identity:
    """Return the admin, or refuse."""
    if not who.admin:
        raise Wrong(403, "this takes the admin token.")
    return who


def allowed(scope: str) -> Callable[..., Coroutine[Any, Any, str]]:
    """Return a check that a token has a scope on the study in the path; whether that study exists is not told."""

    async def check(name: Name, who: Annotated[Identity, Depends(identity)]) -> str:
        if not who.may(scope, name):
            raise Wrong(403, f"this token may not {scope} this study.")
        return name

    return check


Somebody = Annotated[Identity, Depends(identity)]
Admin = Annotated[Identity, Depends(administrator)]
Readable = Annotated[str, Depends(allowed("read"))]
Writable = Annotated[str, Depends(allowed("write"))]
