"""The routes of the service."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI, Header, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.concurrency import run_in_threadpool

from windward.basics.errors import JournalError
from windward.basics.times import read_moment
from windward.present import records
from windward.present.listing import Sought, Standing, listed, story
from windward.present.plots import FIGURES
from windward.service import advice, bodies, jobs, page
from windward.service.access import Admin, Inside, Kitchen, Name, Readable, Somebody, Writable
from windward.service.advice import REFUSALS, revision_of
from windward.service.fits import Fits, Rank
from windward.service.gate import Gate
from windward.service.guard import Doorkeeper, StrictRoute, Wrong, add_handlers, for_clients
from windward.service.history import history
from windward.service.scribe import Scribe, study_with, trial_now
from windward.service.settings import Settings
from windward.service.shelf import Shelf
from windward.service.tokens import SCOPES, TokenStore
from windward.study.study import utc_now
from windward.trials.records import Tell
from windward.version import __version__

# Trials sent at once.
MOST_TRIALS = 1000
NOTHING_GIVEN = bodies.Ask()
# The figures that there are, by name: the page asks for each of them.
if TYPE_CHECKING:
    FigureKind = str
else:
    FigureKind = Literal[tuple(FIGURES)]
Id = Annotated[int, Path(ge=0, le=2**31)]
LONGEST_WORDS = 300
Words = Annotated[str | None, Query(max_length=LONGEST_WORDS)]
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]


def create_app(settings: Settings) -> FastAPI:
    """Return the service; its processes start with it and end with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        shelf = Shelf(settings.journal, settings.memory, plugins=settings.plugins)
        kitchen = Kitchen(
            settings,
            shelf,
            TokenStore(settings.journal, settings.admin_token, shelf.journal.birth),
            Gate(settings.wrong_tokens),
            Fits(settings),
            Scribe(shelf),
            anyio.CapacityLimiter(2),
        )
        app.state.kitchen = kitchen
        try:
            yield
        finally:
            await kitchen.fits.close()
            kitchen.tokens.close()

    app = FastAPI(
        title="Windward",
        version=__version__,
        description="Decisions made before conditions are known and judged by results that come late.",
        lifespan=lifespan,
        openapi_url=None,  # it takes a token: see below
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
    )
    app.add_middleware(Doorkeeper, largest=settings.largest_body, seconds=settings.body_seconds)
    add_handlers(app)
    for router in (studies, rounds, history, reading, advice.answers, page.pages):
        app.include_router(router)
    return app


studies = APIRouter(prefix="/api", tags=["studies"], route_class=StrictRoute, responses=REFUSALS)
rounds = APIRouter(prefix="/api/studies/{name}", tags=["rounds"], route_class=StrictRoute, responses=REFUSALS)
reading = APIRouter(prefix="/api/studies/{name}", tags=["reading"], route_class=StrictRoute, responses=REFUSALS)


# -- studies ------------------------------------------------------------------------------------------------------------


@studies.get("/me")
def me(who: Somebody) -> dict[str, Any]:
    """Say what the token may do."""
    return {"admin": who.admin, "study": who.study, "scopes": list(who.scopes), "version": __version__}


@studies.get("/studies")
def list_studies(inside: Inside, who: Admin) -> dict[str, Any]:
    """List the studies."""
    return {"studies": [_summary(inside, name) for name in inside.shelf.journal.names()]}


@studies.post("/studies", status_code=201)
async def create_study(inside: Inside, who: Admin, body: bodies.NewStudy) -> dict[str, Any]:
    """Make a study; its two tokens are in the answer, and never again."""
    data = body.model_dump(exclude_none=True)
    _check_sizes(inside.settings, data)
    made = await inside.fits.run(Rank.ASK, body.name, jobs.create, data)
    # The name was free: tokens that bear it are of a study that was deleted.
    await run_in_threadpool(inside.tokens.revoke, body.name)
    tokens = {
        "read": await run_in_threadpool(inside.tokens.make, body.name, ("read",)),
        "write": await run_in_threadpool(inside.tokens.make, body.name, SCOPES),
    }
    return {**made, "tokens": tokens}


@studies.delete("/studies/{name}")
def delete_study(
    inside: Inside, who: Admin, name: Name, typed: Annotated[str, Query(max_length=bodies.LONGEST_NAME)]
) -> dict[str, Any]:
    """Delete a study, its log and its tokens, for ever; `typed` is its name once more, typed by a person."""
    if typed != name:
        raise Wrong(422, f"typed: {typed!r} is not the name of this study; type {name!r}. Nothing was deleted.")
    inside.shelf.journal.delete(name)
    return {"study": name, "deleted": True, "revoked": inside.tokens.revoke(name)}


@studies.post("/studies/{name}/tokens", status_code=201)
def make_token(inside: Inside, who: Admin, name: Name, body: bodies.NewToken) -> dict[str, Any]:
    """Make another token for a study; it is shown once."""
    inside.shelf.study(name)
    scopes = tuple(scope for scope in SCOPES if scope in body.scopes)
    return {"study": name, "scopes": list(scopes), "token": inside.tokens.make(name, scopes)}


@studies.delete("/studies/{name}/tokens")
def revoke_tokens(inside: Inside, who: Admin, name: Name) -> dict[str, Any]:
    """Revoke every token of a study."""
    inside.shelf.study(name)
    return {"study": name, "revoked": inside.tokens.revoke(name)}


@studies.get("/methods")
def methods(who: Somebody) -> dict[str, Any]:
    """List the published methods that need no arguments, with what they do."""
    return {"methods": page.offered_methods()}


# -- rounds -------------------------------------------------------------------------------------------------------------


@rounds.post("/ask", status_code=201)
async def ask(inside: Inside, name: Writable, body: bodies.Ask = NOTHING_GIVEN, key: Key = None) -> dict[str, Any]:
    """Get the next decision to try. With the same Idempotency-Key the same suggestion comes again."""
    answer = await inside.fits.run(Rank.ASK, name, jobs.ask, name, body.model_dump(), key)
    assert isinstance(answer, dict)
    return answer


@rounds.post("/declare")
def declare(inside: Inside, name: Writable, body: bodies.Declare) -> dict[str, Any]:
    """Declare what is done without the study, or how many trials it is meant to have; from now on."""
    study = inside.shelf.study(name)
    study.declare(status_quo=body.status_quo, horizon=body.horizon)
    return {"study": name, "status_quo": study.status_quo, "horizon": study.horizon}


@rounds.post("/trials/{id}/reveal")
def reveal(inside: Inside, name: Writable, id: Id, body: bodies.Reveal) -> dict[str, Any]:
    """Say what a trial's context is, whole or in part."""
    study = study_with(inside.shelf, name, id)
    study.reveal(id, body.context)
    return trial_now(study, id)


@rounds.post("/trials/{id}/tell")
async def tell(inside: Inside, name: Writable, id: Id, body: bodies.TellBody, key: Key = None) -> Response:
    """Say what a trial's value is, however late. The same again is harmless."""
    one = Tell(id, body.value, body.context, body.noise, body.decision, key)
    return JSONResponse(await inside.scribe.tell(name, one))  # plain data: not checked again on its way out


@rounds.post("/trials/{id}/lose")
def lose(inside: Inside, name: Writable, id: Id, body: bodies.Lose) -> dict[str, Any]:
    """Give a pending trial up; a value that comes later still counts."""
    study = study_with(inside.shelf, name, id)
    study.lose(id, body.reason)
    return trial_now(study, id)


@rounds.post("/trials/{id}/note")
def note(inside: Inside, name: Writable, id: Id, body: bodies.Note) -> dict[str, Any]:
    """Write down what to remember of a trial; what is left out stays."""
    study = study_with(inside.shelf, name, id)
    study.note(id, body.note, tags=body.tags)
    return trial_now(study, id)


@rounds.post("/trials/{id}/amend")
def amend(inside: Inside, name: Writable, id: Id, body: bodies.Amend) -> dict[str, Any]:
    """Correct what was told or revealed."""
    study = study_with(inside.shelf, name, id)
    when = None if body.when is None else read_moment("when", body.when, None)
    study.amend(
        id,
        value=body.value,
        context=body.context,
        noise=body.noise,
        decision=body.decision,
        reason=body.reason,
        when=when,
    )
    return trial_now(study, id)


# -- reading ------------------------------------------------------------------------------------------------------------


@reading.get("")
def status(inside: Inside, name: Readable) -> dict[str, Any]:
    """Say how a study stands: its declaration, its counts, its pending trials, and which figures there are."""
    return {**records.status(inside.shelf.study(name)), "figures": list(FIGURES)}


@reading.get("/trials")
def trials(
    inside: Inside,
    name: Readable,
    after: Annotated[int, Query(ge=-1, le=2**31)] = -1,
    limit: Annotated[int, Query(ge=1, le=MOST_TRIALS)] = MOST_TRIALS,
    format: Literal["json", "csv"] = "json",
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    standing: Standing | None = None,
    tag: Words = None,
    text: Words = None,
    sort: Annotated[str, Query(max_length=LONGEST_WORDS)] = "id",
    descending: bool = False,
) -> Any:
    """List trials with ids above `after`; as CSV all of them.

    `standing`, `tag` and `text` (in notes, tags, reasons and choices) say which; `sort` names a column such as `value` or
    `decision.order`, and `offset` is how many to pass over.
    """
    study = inside.shelf.study(name)
    study.sync()
    known = study.trials
    if format == "csv":
        return Response(records.csv_text(study.space, known, known.outcome), media_type="text/csv; charset=utf-8")
    found = listed(known.ledger, Sought(standing, tag, text, sort, descending))
    rows = [trial for trial in found if trial.id > after]
    now = utc_now()
    return {
        "trials": [records.trial(trial, now) for trial in rows[offset : offset + limit]],
        "total": len(known),
        "matching": len(rows),
    }


@reading.get("/trials/{id}")
def trial(inside: Inside, name: Readable, id: Id) -> dict[str, Any]:
    """Return one trial, and what was said of it in order."""
    study = study_with(inside.shelf, name, id)
    events = study.journal.read(name)
    return {**trial_now(study, id), "story": story(events, name, id)}


@reading.get("/figures/{kind}", response_class=JSONResponse)
async def figure(inside: Inside, name: Readable, kind: FigureKind) -> Response:
    """Return a figure as plotly's JSON."""
    key = ("figure", await run_in_threadpool(revision_of, inside, name), kind)
    answer = await inside.fits.kept(key, Rank.SHOW, name, jobs.figure, name, kind)
    return Response(answer, media_type="application/json")


@reading.get("/report", response_class=HTMLResponse)
async def report(inside: Inside, name: Readable) -> Response:
    """Return the report, one HTML file."""
    key = ("report", await run_in_threadpool(revision_of, inside, name))
    answer = await inside.fits.kept(key, Rank.SHOW, name, jobs.report, name)
    return Response(
        answer, media_type="text/html", headers={"content-disposition": 'attachment; filename="report.html"'}
    )


@page.pages.get("/openapi.json")
def schema(request: Request, who: Somebody) -> Response:
    """Return the OpenAPI document; it takes a token, any valid one."""
    return JSONResponse(request.app.openapi())


@page.pages.get("/health", tags=["health"], responses={503: REFUSALS[503]})
async def health(inside: Inside) -> Response:
    """Say whether the service works and its storage can be reached."""
    waiting = inside.fits.waiting
    state = {"status": "ok", "version": __version__, "waiting_for_fits": sum(waiting.values()), "waiting": waiting}
    try:
        await anyio.to_thread.run_sync(inside.tokens.ping, limiter=inside.health)
    except JournalError:
        state["status"] = "the storage cannot be reached"
        return Response(json.dumps(state), 503, media_type="application/json")
    return Response(json.dumps(state), media_type="application/json")


def _summary(inside: Kitchen, name: str) -> dict[str, Any]:
    """Return a line of the list; one damaged study must not hide the others."""
    # Made in Python, it may have a name that no URL can hold.
    line: dict[str, Any] = {"name": name, "reachable": bodies.fits_a_path(name), "error": None}
    try:
        study = inside.shelf.study(name)
        study.sync()
        return {**line, "direction": study.direction, "revision": study.revision, **records.counts(study.trials)}
    except JournalError as error:
        return {**line, "error": for_clients(error)}


def _check_sizes(settings: Settings, data: dict[str, Any]) -> None:
    """Refuse declarations that would take the machine down: the library serves its caller, a service everybody."""
    parameters = [*data["decision"].values(), *data["context"].values()]
    choices = [each.get("choices") for each in parameters]
    width = sum(len(each) if isinstance(each, list) else 1 for each in choices)
    if width > settings.most_parameters or len(data["constraints"]) > settings.most_parameters:
        raise Wrong(422, f"a study here has at most {settings.most_parameters} parameters, choices and constraints.")
    largest = max(_numbers(data.get("policy")), default=0)
    if largest > settings.most_numbers:
        raise Wrong(422, f"policy: whole numbers here are at most {settings.most_numbers}, got {str(largest)[:20]}.")


def _numbers(data: Any) -> list[int]:
    if isinstance(data, dict):
        return [number for entry in data.values() for number in _numbers(entry)]
    if isinstance(data, list):
        return [number for entry in data for number in _numbers(entry)]
    return [data] if isinstance(data, int) and not isinstance(data, bool) else []
