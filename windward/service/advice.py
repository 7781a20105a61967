"""The routes of advice: what to do, what it is worth, what matters, whether it can be trusted."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from windward.service import bodies, jobs
from windward.service.access import Inside, Kitchen, Readable
from windward.service.fits import Rank
from windward.service.guard import StrictRoute, Wrong

Object = Annotated[str | None, Query(max_length=10_000)]  # a JSON object, written out
When = Annotated[bodies.Time | None, Query()]
REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body is no JSON, or has NaN or numbers beyond the floats."},
    401: {"description": "No token, or one that nobody has."},
    403: {"description": "The token may not do this."},
    404: {"description": "There is no such study or trial."},
    409: {"description": "The study cannot do this to that trial now; nothing was written."},
    408: {"description": "The request took too long to arrive."},
    413: {"description": "The body is too large."},
    422: {"description": "Something in the request does not fit; nothing was written."},
    429: {"description": "Too many wrong tokens came from this address."},
    503: {"description": "The storage cannot be reached, or too many fits wait."},
}

answers = APIRouter(prefix="/api/studies/{name}", tags=["advice"], route_class=StrictRoute, responses=REFUSALS)


@answers.get("/recommendation", response_class=JSONResponse)
async def recommendation(
    inside: Inside, name: Readable, context: Object = None, forecast: Object = None, when: When = None
) -> Response:
    """Say what to do now; `context`, a JSON object, is what is known of the context it will meet, `when` at which time.

    An object among its values is a forecast of that one; `forecast` is one of several together, by samples.
    """
    given = object_of("context", context), when, object_of("forecast", forecast)
    key = ("recommendation", await run_in_threadpool(revision_of, inside, name), context, when, forecast)
    answer = await inside.fits.kept(key, Rank.ADVISE, name, jobs.recommend, name, *given)
    return Response(answer, media_type="application/json")


@answers.get("/comparison", response_class=JSONResponse)
async def comparison(
    inside: Inside,
    name: Readable,
    first: Object = None,
    second: Object = None,
    context: Object = None,
    when: When = None,
) -> Response:
    """Set two decisions, JSON objects, side by side. Left out, the first is the status quo, the second the recommended one."""
    asked = (object_of("first", first), object_of("second", second), object_of("context", context))
    key = ("comparison", await run_in_threadpool(revision_of, inside, name), first, second, context, when)
    answer = await inside.fits.kept(key, Rank.ADVISE, name, jobs.compare, name, *asked, when)
    return Response(answer, media_type="application/json")


@answers.get("/by-context", response_class=JSONResponse)
async def by_context(
    inside: Inside,
    name: Readable,
    decision: Object = None,
    over: Annotated[list[str] | None, Query(max_length=2)] = None,
    context: Object = None,
    when: When = None,
) -> Response:
    """Say what a decision, a JSON object, is worth on each kind of day; left out, the recommended one.

    `over` is a context to look at, given twice for two together; left out, each of them by itself.
    """
    asked = object_of("decision", decision), over, object_of("context", context), when
    names = None if over is None else tuple(over)
    key = ("by context", await run_in_threadpool(revision_of, inside, name), decision, names, context, when)
    answer = await inside.fits.kept(key, Rank.ADVISE, name, jobs.by_context, name, *asked)
    return Response(answer, media_type="application/json")


@answers.get("/importance", response_class=JSONResponse)
async def importance(inside: Inside, name: Readable, context: Object = None, when: When = None) -> Response:
    """Say what matters: how much of the variation each decision and context accounts for."""
    key = ("importance", await run_in_threadpool(revision_of, inside, name), context, when)
    answer = await inside.fits.kept(key, Rank.SHOW, name, jobs.importance, name, object_of("context", context), when)
    return Response(answer, media_type="application/json")


@answers.get("/settled", response_class=JSONResponse)
async def settled(
    inside: Inside,
    name: Readable,
    delta: Annotated[float | None, Query(gt=0, allow_inf_nan=False)] = None,
    context: Object = None,
    when: When = None,
) -> Response:
    """Say how probable it is that no decision is better than the recommended one by more than `delta`.

    Without `delta`, the difference that holds with a probability of 0.9.
    """
    given = object_of("context", context)
    key = ("settled", await run_in_threadpool(revision_of, inside, name), delta, context, when)
    answer = await inside.fits.kept(key, Rank.ADVISE, name, jobs.settled, name, delta, given, when)
    return Response(answer, media_type="application/json")


@answers.get("/check", response_class=JSONResponse)
async def check(inside: Inside, name: Readable) -> Response:
    """Say whether the model behind the advice can be trusted, in numbers and sentences."""
    key = ("check", await run_in_threadpool(revision_of, inside, name))
    answer = await inside.fits.kept(key, Rank.SHOW, name, jobs.check, name)
    return Response(answer, media_type="application/json")


def revision_of(inside: Kitchen, name: str) -> tuple[str, str, int]:
    """Return what tells apart all that was ever known of a study: what was computed then is right for the same again."""
    birth, study = inside.shelf.born(name)
    study.sync()
    return name, birth, study.revision


def object_of(name: str, text: str | None) -> dict[str, Any] | None:
    """Return the JSON object in a part of the query, None where it was left out."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Wrong(400, f"{name}: not JSON: {str(error)[:100]}") from error
    if not isinstance(found, dict):
        raise Wrong(422, f"{name}: give a JSON object from names to values.")
    return found
